"""Sockets to listen on."""

from __future__ import annotations

import socket

import pytest

from anabranch.errors import Busy
from anabranch.server.config.settings import Address
from anabranch.server.process.sockets import bind_same, listen, refuse_new_connections, url_of


@pytest.fixture
def sockets():
    """A list of sockets, which are closed after the test."""
    opened: list[socket.socket] = []
    yield opened
    for each in opened:
        each.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
@pytest.mark.parametrize("count", [1, 3])
def test_connections_are_accepted(sockets, host, count):
    sockets += listen(Address(host, 0), count)
    assert len(sockets) == count
    assert len({each.getsockname()[1] for each in sockets}) == 1
    port = int(url_of(sockets[0]).rpartition(":")[2])
    assert url_of(sockets[0]).startswith("http://")
    for _ in range(20):
        socket.create_connection((host or "127.0.0.1", port), timeout=60).close()


def test_connections_are_distributed_over_all_sockets(sockets):
    sockets += listen(Address("127.0.0.1", 0), 2)
    clients = [socket.create_connection(sockets[0].getsockname(), timeout=60) for _ in range(64)]
    accepted = []
    for each in sockets:
        each.settimeout(0.2)
        accepted.append(0)
        try:
            while True:
                each.accept()[0].close()
                accepted[-1] += 1
        except TimeoutError:
            pass
    for each in clients:
        each.close()
    assert sum(accepted) == 64
    assert min(accepted) > 10


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("others", [1, 2])
def test_an_address_is_not_shared_with_another_server(sockets, count, others):
    sockets += listen(Address("127.0.0.1", 0), others)
    with pytest.raises(Busy, match=r"cannot listen on 127\.0\.0\.1:"):
        listen(Address("127.0.0.1", sockets[0].getsockname()[1]), count)


def test_an_address_of_another_machine_raises_busy():
    with pytest.raises(Busy, match="cannot listen"):
        listen(Address("192.0.2.1", 0))


@pytest.mark.sample(1)
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_socket_that_refuses_new_connections_keeps_those_that_wait(sockets, host):
    try:
        sockets += listen(Address(host, 0))
    except Busy:
        pytest.skip(f"no {host} here")
    name = sockets[0].getsockname()
    waiting = [socket.create_connection(name[:2], timeout=60) for _ in range(5)]
    refuse_new_connections(sockets[0])
    with pytest.raises(TimeoutError):
        socket.create_connection(name[:2], timeout=0.3)
    for client in waiting:
        client.sendall(b"hello")
        accepted = sockets[0].accept()[0]
        accepted.settimeout(60)
        assert accepted.recv(5) == b"hello"
        accepted.sendall(b"there")
        assert client.recv(5) == b"there"
        accepted.close()
        client.close()
    sockets[0].close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(name[:2], timeout=60)


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_bound_socket_accepts_no_connections_before_it_listens(sockets, host):
    sockets += listen(Address(host, 0), 2)
    port = sockets[0].getsockname()[1]
    sockets.append(bind_same(sockets[0]))
    sockets[0].close()
    clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(20)]
    for _ in clients:
        sockets[1].settimeout(60)
        sockets[1].accept()[0].close()
    sockets[2].listen(64)
    sockets[1].close()
    clients.append(socket.create_connection(("127.0.0.1", port), timeout=60))
    sockets[2].settimeout(60)
    sockets[2].accept()[0].close()
    for client in clients:
        client.close()
