"""Malformed and ambiguous requests are refused and end their connections; earlier requests on the
connection get their responses.
"""

from __future__ import annotations

import socket
import time
from contextlib import closing, suppress

import pytest
from support.clients.raw_connection import Wire

HEALTH = b"GET /_health HTTP/1.1\r\nHost: sea\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.fixture
def wire(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield wire


def get(*lines, first="GET /_health HTTP/1.1", host="Host: sea"):
    return "\r\n".join([first, *([host] if host else []), *lines, "", ""]).encode("latin-1")


def upload(shared_server, path, *headers):
    return shared_server.request("POST", f"branches/main/objects?path={path}", *headers)


def exists(shared_server, path):
    params = {"path": path}
    return shared_server.api.get(
        "/repositories/sea/refs/main/objects/stat", params=params
    ).is_success


REFUSED = {
    "no-version": (b"GET /_health\r\n", 400),
    "no-version-with-end": (b"GET /_health\r\n\r\n", 400),
    "old-version": (get(first="GET /_health HTTP/0.9"), 505),
    "http-2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "tls": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "no-colon": (get("Host sea"), 400),
    "no-host": (get(host=""), 400),
    "two-hosts": (get("Host: sea"), 400),
    "invalid-host": (get(host="Host: sea/lake"), 400),
    "folded": (get("a: b", " c"), 400),
    "bare-lf": (b"GET /_health HTTP/1.1\nHost: sea\n\n", 400),
    "bare-lf-later": (get("a: b\nc: d"), 400),
    "bare-cr": (get("a: b\rc: d"), 400),
    "nul": (get("a: \0"), 400),
    "blank-before-colon": (get("Content-Length : 0"), 400),
    "two-lengths": (get("Content-Length: 0", "Content-Length: 0"), 400),
    "two-lengths-in-one": (get("Content-Length: 0, 0"), 400),
    "signed-length": (get("Content-Length: +1"), 400),
    "long-length": (get("Content-Length: 99999999999999999999"), 400),
    "length-and-chunks": (get("Content-Length: 5", CHUNKED) + b"0\r\n\r\n", 400),
    "chunks-twice": (get(CHUNKED, CHUNKED) + b"0\r\n\r\n", 400),
    "unknown-coding": (get("Transfer-Encoding: gzip, chunked"), 501),
    "chunks-in-1.0": (get(CHUNKED, first="GET /_health HTTP/1.0"), 400),
    "expectation": (get("Expect: 200-maybe"), 417),
    "asterisk": (get(first="OPTIONS * HTTP/1.1"), 400),
    "tunnel": (get(first="CONNECT sea:80 HTTP/1.1"), 400),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "bytewise"])
def test_a_malformed_request_is_refused_and_ends_the_connection(wire, name, bytewise):
    data, status = REFUSED[name]
    if bytewise:
        with suppress(OSError):  # the server refuses it before all bytes are sent
            for byte in data:
                wire.send(bytes([byte]))
    else:
        wire.send(data)
    response = wire.read_response()
    assert (response[0], response[1]["connection"]) == (status, "close")
    assert wire.at_end()


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_before_a_malformed_one_gets_its_response(wire, name):
    data, status = REFUSED[name]
    wire.send(HEALTH, data)
    assert wire.read_response()[::2] == (200, b"alive!")
    assert wire.read_response()[0] == status
    assert wire.at_end()


@pytest.mark.parametrize("stray", [b"\0", b"stray", b"\r\n\r\n\r\n\r\n\r\n\r\n", b"} {"])
def test_an_upload_followed_by_stray_bytes_gets_its_response(shared_server, wire, stray):
    path = f"stray-{stray.hex()}.csv"
    wire.send(upload(shared_server, path, "Content-Length: 2") + b"1\n" + stray + b"\r\n")
    assert wire.read_response()[0] == 201
    assert wire.read_response()[0] == 400
    assert wire.at_end()
    assert exists(shared_server, path)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://lake/_health", "Host: sea", 200),
        ("HTTP://lake:80/_health?a=b", "Host: lake:80", 200),
        ("http://lake/_health", "", 400),
        ("http://sea@lake/_health", "Host: lake", 400),
    ],
)
def test_an_absolute_target_must_match_the_host_header(wire, target, host, status):
    wire.send(get(first=f"GET {target} HTTP/1.1", host=host))
    assert wire.read_response()[0] == status


def test_a_request_of_http_1_0_needs_no_host_header(wire):
    wire.send(get(first="GET /_health HTTP/1.0", host=""))
    assert wire.read_response()[::2] == (200, b"alive!")
    assert wire.at_end()


def test_an_unknown_method_is_a_client_error(wire):
    wire.send(get(first="BREW /_health HTTP/1.1"))
    assert 400 <= wire.read_response()[0] < 500


BROKEN_CHUNKS = {
    "no-size": b"2\r\n1\n\r\n\r\n",
    "no-end": b"2\r\n1\nxx",
    "overflow": b"2\r\n1\n\r\n10000000000000001\r\n",
    "extensions": b"2\r\n1\n\r\n2;" + b"a" * 9000 + b"\r\n",
    "many-extensions": b"2;abcdefgh\r\n1\n\r\n" * 1200,
    "trailers": b"2\r\n1\n\r\n0\r\n" + b"a: b\r\n" * 2500,
    "bare-lf": b"2\n1\n\n0\n\n",
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", BROKEN_CHUNKS)
@pytest.mark.parametrize("apart", [False, True], ids=["one-segment", "two-segments"])
def test_an_upload_in_malformed_chunks_is_refused(shared_server, wire, name, apart):
    path = f"chunks-{name}-{apart}.csv"
    before = shared_server.files()
    wire.send(upload(shared_server, path, CHUNKED))
    if apart:
        time.sleep(0.05)
    wire.send(BROKEN_CHUNKS[name])
    response = wire.read_response()
    assert (response[0], response[1]["connection"]) == (400, "close")
    assert wire.at_end()
    assert not exists(shared_server, path)
    assert shared_server.files() == before


def test_chunks_may_have_a_few_extensions_and_trailers(shared_server, wire):
    body = b'2;a="b"\r\n1\n\r\n0;c\r\nx-checksum: d\r\n\r\n'
    wire.send(upload(shared_server, "extended.csv", CHUNKED) + body, HEALTH)
    assert wire.read_response()[0] == 201
    assert wire.read_response()[::2] == (200, b"alive!")
    assert exists(shared_server, "extended.csv")


def test_a_request_after_connection_close_is_not_executed(shared_server, wire):
    last = upload(shared_server, "last.csv", "Connection: close", "Content-Length: 2") + b"1\n"
    wire.send(last, upload(shared_server, "behind.csv", "Content-Length: 2") + b"1\n")
    assert wire.read_response()[0] == 201
    assert wire.at_end()
    assert not exists(shared_server, "behind.csv")


def test_pipelined_requests_are_read_only_as_responses_are_sent(shared_server):
    """The server buffers one segment of a client that sends thousands of requests."""
    before = shared_server.memory()
    wires = [Wire(shared_server.connect()) for _ in range(10)]
    for wire in wires:
        wire.socket.settimeout(0.2)
        with suppress(TimeoutError):
            wire.send(shared_server.request("GET", "branches?amount=1") * 20_000)
    with closing(Wire(shared_server.connect())) as other:
        other.send(HEALTH)
        assert other.read_response()[::2] == (200, b"alive!")
    assert shared_server.memory() - before < 100 << 20
    for wire in wires:
        wire.close()
