"""The proxy follows its instructions: what comes through it, and what does not."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from support.faults.faulty_proxy import FaultyProxy
from support.session.free_port import free_port


@pytest.fixture
def echo():
    """The address of a server that says everything back."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    connection.sendall(data)
            except OSError:
                pass

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield listening.getsockname()
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


@pytest.fixture
def proxy(echo):
    with FaultyProxy(echo) as proxy:
        yield proxy


def connect(proxy, timeout=30.0):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=timeout)


def ask(connection, data):
    connection.sendall(data)
    answer = b""
    while len(answer) < len(data):
        piece = connection.recv(65536)
        if not piece:
            break
        answer += piece
    return answer


def ask_once(proxy):
    with connect(proxy) as connection:
        return ask(connection, b"a")


def until_reset(connection):
    """Returns all that comes before the connection is reset."""
    got = b""
    try:
        while True:
            piece = connection.recv(100)
            assert piece, "it is reset, not closed"
            got += piece
    except ConnectionError:
        return got


def test_it_passes_on_what_it_is_sent_both_ways(proxy):
    data = bytes(range(256)) * 5_000
    with connect(proxy) as one, connect(proxy) as two:
        assert ask(one, b"one") == b"one"
        sending = threading.Thread(target=two.sendall, args=(data,))
        sending.start()
        got = b""
        while len(got) < len(data):
            got += two.recv(65536)
        sending.join()
        assert got == data
    assert proxy.connections == 2


def test_who_has_said_all_still_hears_the_answer(proxy):
    with connect(proxy) as connection:
        connection.sendall(b"last words")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b"last words"
        assert connection.recv(100) == b""


def test_cut_connections_are_reset_and_new_ones_are_sound(proxy):
    with connect(proxy) as connection:
        assert ask(connection, b"a") == b"a"
        proxy.cut()
        with pytest.raises(ConnectionError):
            connection.recv(1)
    with connect(proxy) as connection:
        assert ask(connection, b"b") == b"b"


@pytest.mark.parametrize("count", [0, 1, 7])
def test_answers_end_after_so_many_bytes(proxy, count):
    with connect(proxy) as connection:
        assert ask(connection, b"before") == b"before"
        proxy.pass_answers(count)
        connection.sendall(b"0123456789")
        assert until_reset(connection) == b"0123456789"[:count]
    with connect(proxy) as connection:
        assert ask(connection, b"after") == b"after"


@pytest.mark.parametrize("round_trips", [0, 1, 2])
def test_an_answer_is_lost_after_so_many_round_trips(proxy, round_trips):
    with connect(proxy) as connection:
        assert ask(connection, b"before") == b"before"
        proxy.lose_answer(round_trips)
        for _ in range(round_trips):
            assert ask(connection, b"through") == b"through"
        connection.sendall(b"lost")
        assert until_reset(connection) == b""
    with connect(proxy) as connection:
        assert ask(connection, b"after") == b"after"


def test_what_is_swallowed_comes_through_when_that_is_over(proxy):
    with connect(proxy) as connection:
        proxy.swallow()
        connection.settimeout(0.3)
        connection.sendall(b"a")
        with pytest.raises(TimeoutError):
            connection.recv(1)
        proxy.reset()
        connection.settimeout(30)
        assert connection.recv(1) == b"a"


def test_only_connections_of_that_moment_are_stalled(proxy):
    with connect(proxy) as old:
        assert ask(old, b"a") == b"a"
        proxy.stall()
        old.sendall(b"b")
        with connect(proxy) as new:
            assert ask(new, b"c") == b"c"
        old.settimeout(0.3)
        with pytest.raises(TimeoutError):
            old.recv(1)
        proxy.reset()
        old.settimeout(30)
        assert old.recv(1) == b"b"


def test_a_delay_is_a_delay(proxy):
    proxy.delay(0.1)
    with connect(proxy) as connection:
        start = time.monotonic()
        assert ask(connection, b"a") == b"a"
        assert time.monotonic() - start > 0.19, "it holds for each way"


def test_garbage_has_the_same_length(proxy):
    proxy.garble()
    with connect(proxy) as connection:
        connection.sendall(b"abc")
        # garbled on the way there and on the way back
        assert connection.recv(100) == b"abc"


def test_it_refuses_connections(proxy):
    with connect(proxy) as connection:
        assert ask(connection, b"a") == b"a"
        proxy.refuse()
        with pytest.raises(ConnectionError):
            connection.recv(1)
    with pytest.raises(ConnectionError):
        ask_once(proxy)
    proxy.reset()
    with connect(proxy) as connection:
        assert ask(connection, b"b") == b"b"


def test_a_server_that_is_gone_is_a_reset():
    with FaultyProxy(("127.0.0.1", free_port())) as proxy, pytest.raises(ConnectionError):
        ask_once(proxy)
