"""The parser of whole requests, the incremental parser and httptools return equal results."""

from __future__ import annotations

import httptools
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch import _kernel as kernel
from anabranch.server.http.request_reader import RequestReader
from anabranch.signing.request import join_headers

LINES = st.sampled_from(
    [
        b"Host: sea",
        b"content-length: 0",
        b"Content-Length: 2",
        b"Content-Length: 02",
        b"Content-Length: 2, 2",
        b"Content-Length:",
        b"Transfer-Encoding: chunked",
        b"transfer-encoding: gzip",
        b"Connection: keep-alive",
        b"Connection: Close",
        b"Connection:",
        b"Upgrade: h2c",
        b"Expect: 100-continue",
        b"X-Amz-Meta-Depth:  1 0 \t",
        b"x-empty:",
        b"x-name: \xc3\xa9",
        b"x y: z",
        b": z",
        b" folded",
        b"none",
    ]
)
FIRST = st.sampled_from(
    [
        b"GET / HTTP/1.1",
        b"PUT /a%20b//c?d=e&f HTTP/1.1",
        b"HEAD /a? HTTP/1.1",
        b"GET /a?b#c HTTP/1.1",
        b"GET http://sea/a HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"GET /\xc3\xa9 HTTP/1.1",
        b"GET / HTTP/1.0",
        b"GET /  HTTP/1.1",
        b"BREW /pot HTTP/1.1",
        b"GET /",
    ]
)
ENDS = st.sampled_from([b"\r\n", b"\n", b"\r"])
PLAIN_ENDS = st.just(b"\r\n")


class Parsed:
    """The result of httptools for one request."""

    def __init__(self, data):
        self.url = b""
        self.headers = []
        self.body = b""
        self.complete = 0
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(data)

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        self.headers.append((name, value))

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.complete += 1


class Received:
    """The result of the incremental parser."""

    def __init__(self, data, size):
        self.heads = []
        self.body = b""
        self.complete = 0
        reader = RequestReader()
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            end = 0
            while end < len(piece):
                end = reader.read(piece, end, self)

    def on_head(self, head):
        self.heads.append(head)

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.complete += 1


def in_pieces(data, size):
    """Returns what the incremental parser reads from data in pieces; None for malformed data."""
    try:
        received = Received(data, size)
    except kernel.MalformedRequest:
        return None
    heads = [
        (
            head.method,
            head.path,
            head.query,
            head.is_1_0,
            head.headers,
            head.pairs,
            head.length,
            head.keep_alive,
            head.expects_continue,
        )
        for head in received.heads
    ]
    return heads, received.body, received.complete


def check(data):
    """Compares the parsers; returns whether the data can be parsed as one whole request."""
    for size in (1, 7):
        assert in_pieces(data, size) == in_pieces(data, len(data))
    request = kernel.whole_request(data)
    if request is None:
        return False
    received = Received(data, len(data))
    (head,) = received.heads
    assert request == (head.method, head.path, head.query, head.headers, received.body)
    assert received.complete == 1
    assert head.keep_alive
    assert not head.is_1_0
    assert not head.expects_continue
    parsed = Parsed(data)
    url = httptools.parse_url(parsed.url)
    method = parsed.parser.get_method().decode()
    query = (url.query or b"").decode()
    headers = join_headers(parsed.headers)
    assert request == (method, url.path.decode(), query, headers, parsed.body)
    assert parsed.complete == 1
    assert parsed.parser.should_keep_alive()
    assert not parsed.parser.should_upgrade()
    assert parsed.parser.get_http_version() == "1.1"
    return True


@given(FIRST, st.lists(LINES, max_size=5), ENDS | PLAIN_ENDS, st.sampled_from([b"", b"hi", b"hi!"]))
@example(b"GET / HTTP/1.1", [], b"\r\n", b"")
def test_parsers_agree_on_requests_of_random_lines(first, lines, end, body):
    check(end.join([first, *lines, b"", b""]) + body)
    check(end.join([first, b"Host: sea", *lines, b"", b""]) + body)


@given(st.data(), st.integers(0, 255))
def test_parsers_agree_on_requests_with_one_changed_byte(data, byte):
    whole = (
        b"PUT /sea/main/depth.csv?x-id=PutObject HTTP/1.1\r\nHost: sea\r\n"
        b"Connection: keep-alive\r\nContent-Length: 2\r\nX-Amz-Date: now\r\n\r\nhi"
    )
    assert check(whole)
    at = data.draw(st.integers(0, len(whole) - 1))
    check(whole[:at] + bytes([byte]) + whole[at + data.draw(st.integers(0, 1)) :])
