"""Clients that keep connections open or send heads slowly do not keep other clients out."""

from __future__ import annotations

import base64
import resource
import select
import socket
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.clients.raw_connection import Wire
from support.session.sizes import sized

from anabranch.errors import Invalid
from anabranch.server.http.client_address import TrustedProxies, address_group
from anabranch.testing.server import running_server

HEALTH = b"GET /_health HTTP/1.1\r\nHost: sea\r\n\r\n"
HALF = b"GET /_health HTTP/1.1\r\nHost: sea\r\nX-Slow: "


def upload(server):
    """Returns the head of an upload."""
    pair = base64.b64encode(":".join(server.auth).encode()).decode()
    target = "/api/v1/repositories/sea/branches/main/objects?path=a"
    lines = [f"POST {target} HTTP/1.1", "Host: sea", f"Authorization: Basic {pair}"]
    return "\r\n".join([*lines, "Content-Length: 1000000", "", ""]).encode()


def connect(server, source=""):
    url = urlsplit(server.url)
    address = (url.hostname, url.port)
    return Wire(
        socket.create_connection(
            address, timeout=30, source_address=(source, 0) if source else None
        )
    )


def ended(server, reason):
    """Returns how many connections were ended for a reason."""
    text = httpx2.get(f"{server.url}/metrics", timeout=30).text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "anabranch_connections_ended_total" and sample.labels["reason"] == reason
    )


def is_open(wire):
    """Returns whether the server has neither sent anything nor closed the connection."""
    return not select.select([wire.socket], [], [], 0)[0]


def limits(**values):
    return {f"ANABRANCH_HTTP_{name.upper()}": str(value) for name, value in values.items()}


@pytest.fixture
def wires():
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(closing(connect(*arguments)))


@pytest.fixture(scope="module")
def short_timeout(tmp_path_factory):
    env = limits(head_timeout="1s")
    with running_server(tmp_path_factory.mktemp("short_timeout"), env=env) as server:
        yield server


@pytest.mark.sample(1)
@pytest.mark.parametrize("dribbling", [False, True])
def test_connections_with_slow_heads_are_closed_after_the_timeout(short_timeout, wires, dribbling):
    before = ended(short_timeout, "slow_head")
    start = time.monotonic()
    slow = []
    for _ in range(20):
        slow.append(wires(short_timeout))
        slow[-1].send(HALF)
    while dribbling and time.monotonic() - start < 0.8:
        for wire in filter(is_open, slow):
            wire.send(b"x")
        time.sleep(0.1)
    for wire in slow:
        response = wire.read_response()
        assert (response[0], response[1]["connection"]) == (408, "close")
        assert wire.at_end()
    assert time.monotonic() - start >= 1
    assert ended(short_timeout, "slow_head") == before + len(slow)
    # reasons are logged once a minute: perhaps only those of an earlier test
    assert "connections refused or closed" in short_timeout.log.read_text()


@pytest.mark.slow
def test_a_slow_head_after_a_request_ends_its_connection(short_timeout, wires):
    wire = wires(short_timeout)
    wire.send(HEALTH, HALF)
    assert wire.read_response()[0] == 200
    assert wire.read_response()[0] == 408
    assert wire.at_end()


def test_a_connection_without_a_request_is_closed(short_timeout, wires):
    assert wires(short_timeout).at_end()


def test_a_connection_between_requests_stays_open_longer(short_timeout, wires):
    wire = wires(short_timeout)
    for _ in range(sized(1, weekly=2)):
        wire.send(HEALTH)
        assert wire.read_response()[0] == 200
        assert not select.select([wire.socket], [], [], 1.5)[0]


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    env = limits(max_connections=10, max_connections_per_address=10)
    with running_server(folder, env=env) as server:
        yield server


def test_new_connections_replace_the_longest_idle_ones(limited, wires):
    idle = [wires(limited) for _ in range(10)]
    for wire in idle:
        wire.send(HEALTH)
        assert wire.read_response()[0] == 200
    idle[0].send(HEALTH)  # now another one is the longest idle
    assert idle[0].read_response()[0] == 200
    for closed in idle[1:4]:
        new = wires(limited)
        new.send(HEALTH)
        assert new.read_response()[::2] == (200, b"alive!")
        assert closed.at_end()
    assert is_open(idle[0])
    assert all(is_open(wire) for wire in idle[4:])


def test_new_connections_replace_those_with_unfinished_heads(limited, wires):
    slow = [wires(limited) for _ in range(30)]
    for wire in slow[20:]:
        wire.send(HALF)
    new = wires(limited)
    new.send(HEALTH)
    assert new.read_response()[::2] == (200, b"alive!")
    assert sum(not is_open(wire) for wire in slow) >= 20


def test_new_connections_do_not_replace_those_with_running_requests(limited, wires):
    busy = [wires(limited) for _ in range(10)]
    for wire in busy:
        wire.send(upload(limited))
    deadline = time.monotonic() + 60
    while (response := attempt(limited)) != 503:
        assert response in {200, 0}
        assert time.monotonic() < deadline
    assert sum(is_open(wire) for wire in busy) > 5
    busy[-1].close()
    while attempt(limited) != 200:
        assert time.monotonic() < deadline
    assert ended(limited, "address_limit") > 0  # both limits are 10
    assert "connections refused or closed" in limited.log.read_text()


def attempt(server):
    """Returns the status of a health check; 0 if the connection ended without one."""
    with closing(connect(server)) as wire:
        try:
            wire.send(HEALTH)
            return wire.read_response()[0]
        except (OSError, AssertionError):
            return 0


def test_one_address_cannot_use_all_connections(tmp_path, wires):
    env = limits(max_connections=20, max_connections_per_address=5)
    with running_server(tmp_path, env=env) as server:
        of_one = [wires(server, "127.0.0.2") for _ in range(10)]
        for wire in of_one:
            wire.send(HALF)
        others = [wires(server, "127.0.0.3") for _ in range(5)]
        for wire in others:
            wire.send(HEALTH)
            assert wire.read_response()[0] == 200
        assert sum(not is_open(wire) for wire in of_one) == 5
        assert all(is_open(wire) for wire in others)


def test_connections_of_a_trusted_proxy_count_for_all_clients(tmp_path, wires):
    env = limits(max_connections=20, max_connections_per_address=5, trusted_proxies="127.0.0.0/30")
    with running_server(tmp_path, env=env) as server:
        of_proxy = [wires(server, "127.0.0.2") for _ in range(10)]
        for wire in of_proxy:
            wire.send(HEALTH)
            assert wire.read_response()[0] == 200
        assert all(is_open(wire) for wire in of_proxy)


@pytest.mark.slow
def test_a_thousand_slow_heads_do_not_exhaust_file_descriptors(tmp_path, wires):
    within = ("prlimit", "--nofile=1024:1024")
    with running_server(tmp_path, within=within) as server:
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 1500:
            resource.setrlimit(resource.RLIMIT_NOFILE, (1500, resource.RLIM_INFINITY))
        slow = [wires(server) for _ in range(1100)]
        for wire in slow:
            try:
                wire.send(HALF)
            except OSError:
                continue
        assert httpx2.get(f"{server.url}/_health", timeout=30).text == "alive!"
        assert "no file can be opened" not in server.log.read_text()


def test_a_server_without_file_descriptors_logs_an_error(tmp_path, wires, eventually):
    with running_server(tmp_path) as server:
        used = len(list(Path(f"/proc/{server.pid}/fd").iterdir()))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + 3, used + 3))
        # more than are left: some of those that it used may have been open for a moment only
        held = [wires(server) for _ in range(20)]
        for wire in held:
            wire.send(HEALTH)
        eventually(lambda: "no file can be opened" in server.log.read_text())


def test_clients_are_distinguished_by_address():
    assert address_group("10.0.0.1") == address_group("::ffff:10.0.0.1") == "10.0.0.1"
    assert address_group("2001:db8::1") == address_group("2001:db8::ffff:2")
    assert address_group("2001:db8::1") != address_group("2001:db8:0:1::1")
    assert address_group("fe80::1%eth0") == address_group("fe80::2")


def test_proxies_are_trusted_by_address_or_network():
    proxies = TrustedProxies(["10.0.0.5", "192.168.0.0/24", "2001:db8::/32"])
    for host in ("10.0.0.5", "::ffff:10.0.0.5", "192.168.0.77", "2001:db8::1"):
        assert proxies.trust(host)
    for host in ("10.0.0.6", "", "unix", "2001:db9::1"):
        assert not proxies.trust(host)
    assert not TrustedProxies().trust("127.0.0.1")
    with pytest.raises(Invalid, match="trusted_proxies"):
        TrustedProxies(["nginx"])


FORWARDED = b"GET /_health HTTP/1.1\r\nHost: sea\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n"
TOLD = "requests with X-Forwarded-For from addresses that are not in http.trusted_proxies"


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [False, True])
def test_a_proxy_that_is_not_trusted_is_told(tmp_path, wires, trusted):
    env = limits(trusted_proxies="127.0.0.1") if trusted else {}
    with running_server(tmp_path, env=env) as server:
        wire = wires(server)
        for _ in range(3):
            wire.send(FORWARDED)
            assert wire.read_response()[0] == 200
        lines = [line for line in server.log.read_text().splitlines() if TOLD in line]
    assert len(lines) == (0 if trusted else 1), lines
    assert trusted or "127.0.0.1: 1" in lines[0]
