"""HTTP: heads and chunked bodies, which may arrive in any pieces; ranges; multipart forms."""

from __future__ import annotations

import random
import zlib

import h11
from fuzz.mutation import cut
from fuzz.target import Refused, Target, outcome

from anabranch import _kernel as kernel
from anabranch.http.ranges import ByteRange, parse_range

__all__ = ["TARGETS"]

_ATTEMPTS = 3
_MAX_HEAD = 64 * 1024
_CLIENT, _SERVER = 400, (501, 505)

Head = tuple[object, ...]


def _pieces(data: bytes) -> list[list[bytes]]:
    """Returns the input whole and cut in some ways, which follow from it."""
    source = random.Random(zlib.crc32(data))
    return [[data], *(cut(source, data) for _ in range(_ATTEMPTS))]


def _same(results: list[object]) -> object:
    """Returns what all results are. Raises AssertionError if the cuts make a difference."""
    for other in results[1:]:
        assert other == results[0], f"the cuts matter: {results[0]!r} and {other!r}"
    return results[0]


def _malformed(error: kernel.MalformedRequest) -> tuple[object, ...]:
    status, reason = error.args
    assert (_CLIENT <= status < _CLIENT + 100) or status in _SERVER, f"status {status}"
    assert isinstance(reason, str)
    return "malformed", status, reason


def _read_head(pieces: list[bytes]) -> tuple[object, ...]:
    reader, consumed = kernel.HeadReader(), 0
    try:
        for piece in pieces:
            end, head = reader.take(piece, 0)
            assert 0 <= end <= len(piece)
            consumed += end
            if head is not None:
                return "head", consumed, _as_tuple(head)
            assert end == len(piece), "bytes are left although the head is incomplete"
    except kernel.MalformedRequest as error:
        return _malformed(error)
    return "incomplete", reader.empty


def _as_tuple(head: kernel.RequestHead) -> Head:
    return (
        *(head.method, head.path, head.query, head.is_1_0, tuple(head.headers.items())),
        *(tuple(head.pairs), head.length, head.keep_alive, head.expects_continue),
    )


def check_head(data: bytes) -> None:
    found = _same([_read_head(pieces) for pieces in _pieces(data)])
    assert isinstance(found, tuple)
    whole = kernel.whole_request(data)
    if found[0] != "head":
        assert whole is None, "a whole request whose head is refused"
        return
    _, end, head = found
    method, path, query, _, headers, pairs, length, *_ = head
    assert end <= _MAX_HEAD + 4
    if whole is not None:
        assert whole[:3] == (method, path, query)
        assert tuple(whole[3].items()) == headers
        assert whole[4] == data[end:]
        assert length == len(whole[4])
    _compare_with_h11(data[:end], method, pairs, length)


def _compare_with_h11(head: bytes, method: str, pairs: object, length: int | None) -> None:
    """A head that is accepted means the same to h11, which may refuse what is accepted here."""
    other = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    try:
        other.receive_data(head.lstrip(b"\r\n"))
        event = other.next_event()
    except h11.RemoteProtocolError:
        return
    if not isinstance(event, h11.Request):
        return
    assert event.method.decode("latin-1") == method
    if length is None:
        assert (b"transfer-encoding", b"chunked") in [
            (name, value.lower()) for name, value in event.headers
        ]
    else:
        given = {int(v) for name, v in event.headers if name == b"content-length"}
        assert given <= {length}, f"{given} and {length}"
    names = {name for name, _ in pairs}
    assert {name for name, _ in event.headers} <= names | {b"host"}


def _read_chunks(pieces: list[bytes]) -> tuple[object, ...]:
    reader, consumed, body = kernel.ChunkReader(), 0, b""
    try:
        for piece in pieces:
            end, content = reader.take(piece, 0)
            assert 0 <= end <= len(piece)
            consumed, body = consumed + end, body + content
            if reader.done:
                return "body", consumed, body
            assert end == len(piece)
    except kernel.MalformedRequest as error:
        return _malformed(error)
    return "incomplete", body


def check_chunks(data: bytes) -> None:
    found = _same([_read_chunks(pieces) for pieces in _pieces(data)])
    assert isinstance(found, tuple)
    if found[0] != "body":
        return
    _, end, body = found
    assert len(body) <= end
    other = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    other.receive_data(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
    other.next_event()
    other.receive_data(data[:end])
    theirs = b""
    try:
        while isinstance(event := other.next_event(), h11.Data):
            theirs += bytes(event.data)
    except h11.RemoteProtocolError:
        return
    assert isinstance(event, h11.EndOfMessage), "h11 wants more"
    assert theirs == body


def check_range(data: bytes) -> None:
    text, _, digits = data.decode("latin-1").partition("\n")
    size = int(digits[:15]) if digits.isascii() and digits.isdigit() else 1000
    found = outcome(parse_range, text, size)
    if isinstance(found, ByteRange):
        assert 0 <= found.start < size
        assert 0 < found.length <= size - found.start
        again = parse_range(f"bytes={found.start}-{found.start + found.length - 1}", size)
        assert again == found
    else:
        assert found is None or isinstance(found, Refused)


TARGETS = (
    Target(
        "http_head",
        check_head,
        lambda: (
            b"GET /a/b%20c?x=1&y HTTP/1.1\r\nHost: lake\r\n\r\n",
            (
                b"PUT /r/main/k HTTP/1.1\r\nHost: lake:8000\r\nContent-Length: 3\r\n"
                b"Expect: 100-continue\r\nX-Amz-Meta-A: b\r\nx-amz-meta-a: c\r\n\r\nabc"
            ),
            (
                b"POST http://lake/r?uploads HTTP/1.1\r\nHost: other\r\n"
                b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
            ),
            b"\r\nHEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 190 + b"\r\n",
        ),
        (
            *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b": ", b":", b"\t", b"Content-Length: 0\r\n"),
            *(b"Transfer-Encoding: chunked\r\n", b"chunked", b", chunked", b"Host: b\r\n"),
            *(b" HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"Upgrade: h2c\r\n", b"close", b"keep-alive"),
            *(b"CONNECT a:1 ", b"OPTIONS * ", b"?", b"#", b"%2e", b" a\r\n", b"\x00", b"\xa0"),
        ),
    ),
    Target(
        "http_chunks",
        check_chunks,
        lambda: (
            b"3\r\nabc\r\n0\r\n\r\n",
            b"a;name=value\r\n0123456789\r\n1\r\nx\r\n0\r\nTrailer: a\r\nOther: b\r\n\r\nGET /",
            b'00003;a="b;c"\r\nabc\r\n400\r\n' + b"x" * 1024 + b"\r\n0\r\n\r\n",
        ),
        (
            b"\r\n",
            b"0\r\n\r\n",
            b";",
            b"=",
            b"ffffffffffffffff",
            b"0x",
            b"\n",
            b" ",
            b"3\r\nabc\r\n",
        ),
    ),
    Target(
        "range",
        check_range,
        lambda: (b"bytes=0-9\n1000", b"bytes=5-\n6", b"bytes=-7\n10", b"bytes=0-1,4-5\n10", b"\n0"),
        (b"bytes=", b"-", b",", b"0", b"\n0", b"\n", b" ", b"999999999999999999999"),
    ),
)
