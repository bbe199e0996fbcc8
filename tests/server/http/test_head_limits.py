"""Limits of request heads, which are enforced while a head arrives."""

from __future__ import annotations

from contextlib import closing, suppress

import pytest
from support.clients.raw_connection import Wire

FIRST = b"GET /_health HTTP/1.1\r\nHost: sea\r\n"
END = b"\r\n"
KIB = 1024


def long_head(size):
    return FIRST + b"a: " + b"b" * (size - len(FIRST) - 7) + END + END


def many_lines(count, line=b"a: b\r\n"):
    return FIRST + line * (count - 1) + END


@pytest.fixture
def wire(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        yield wire


def send_all(wire, data):
    with suppress(OSError):  # the server closes the connection before all bytes are sent
        wire.send(data)


@pytest.mark.parametrize("head", [long_head(64 * KIB), many_lines(200)], ids=["bytes", "lines"])
@pytest.mark.parametrize("size", [1 << 20, 1000], ids=["whole", "pieces"])
def test_the_largest_head_is_accepted(wire, head, size):
    for start in range(0, len(head), size):
        wire.send(head[start : start + size])
    assert wire.read_response()[::2] == (200, b"alive!")


@pytest.mark.parametrize(
    "head",
    [
        long_head(64 * KIB + 1),
        many_lines(201),
        long_head(64 * KIB).removesuffix(END),
        FIRST + b"a" * 100_000,
        b"GET /" + b"a" * 100_000,
        many_lines(100_000),
        many_lines(100_000, b"cookie: a=b\r\n"),
        many_lines(100_000, b"%d: b\r\n" % 1),
        long_head(60_000_000),
    ],
    ids=[
        "bytes",
        "lines",
        "not-ended",
        "header-not-ended",
        "target-not-ended",
        "bomb",
        "cookies",
        "numbers",
        "60-mb",
    ],
)
def test_a_head_beyond_the_limits_is_refused_at_once(shared_server, wire, head):
    before = shared_server.memory()
    if not head.endswith(END + END):
        head += b"a" * 64 * KIB
    send_all(wire, head)
    response = wire.read_response()
    assert (response[0], response[1]["connection"]) == (431, "close"), (
        "408 would mean that the server waited"
    )
    assert wire.at_end()
    assert shared_server.memory() - before < 20 << 20


def test_oversized_heads_use_little_processor_time(shared_server):
    bomb = many_lines(100_000)
    before = shared_server.processor_seconds()
    for _ in range(20):
        with closing(Wire(shared_server.connect())) as wire:
            send_all(wire, bomb)
            assert wire.read_response()[0] == 431
    assert shared_server.processor_seconds() - before < 2
