"""Sockets to listen on."""

from __future__ import annotations

import socket

import pytest

from anabranch.errors import Busy
from anabranch.server.listening import listen, url_of
from anabranch.server.settings import Address


@pytest.fixture
def opened():
    sockets: list[socket.socket] = []
    yield sockets
    for each in sockets:
        each.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
@pytest.mark.parametrize("count", [1, 3])
def test_connections_find_a_socket(opened, host, count):
    opened += listen(Address(host, 0), count)
    assert len(opened) == count
    assert len({each.getsockname()[1] for each in opened}) == 1
    port = int(url_of(opened[0]).rpartition(":")[2])
    assert url_of(opened[0]).startswith("http://")
    for _ in range(20):
        socket.create_connection((host or "127.0.0.1", port), timeout=60).close()


def test_connections_are_spread(opened):
    opened += listen(Address("127.0.0.1", 0), 2)
    clients = [socket.create_connection(opened[0].getsockname(), timeout=60) for _ in range(64)]
    taken = []
    for each in opened:
        each.settimeout(0.2)
        taken.append(0)
        try:
            while True:
                each.accept()[0].close()
                taken[-1] += 1
        except TimeoutError:
            pass
    for each in clients:
        each.close()
    assert sum(taken) == 64
    assert min(taken) > 10


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("others", [1, 2])
def test_an_address_is_not_shared_with_another_server(opened, count, others):
    opened += listen(Address("127.0.0.1", 0), others)
    with pytest.raises(Busy, match=r"cannot listen on 127\.0\.0\.1:"):
        listen(Address("127.0.0.1", opened[0].getsockname()[1]), count)


def test_an_address_of_another_machine():
    with pytest.raises(Busy, match="cannot listen"):
        listen(Address("192.0.2.1", 0))
