"""Connections at the level of bytes: sequential and pipelined requests, and how connections end."""

from __future__ import annotations

import json
import socket
from contextlib import closing

import pytest
from support.clients.raw_connection import Wire

from anabranch import _kernel as kernel

CONTENT = b"Mariana,10935\n"
HEALTH = b"GET /_health HTTP/1.1\r\nHost: sea\r\n\r\n"


@pytest.fixture(scope="module")
def depth(shared_server):
    """The address of an object, as a path of the API."""
    upload = {"params": {"path": "depth.csv"}, "content": CONTENT}
    response = shared_server.api.post("/repositories/sea/branches/main/objects", **upload)
    assert response.status_code == 201
    return "refs/main/objects?path=depth.csv"


@pytest.fixture
def wire(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        yield wire


def stat(shared_server, path="depth.csv", *headers):
    return shared_server.request("GET", f"refs/main/objects/stat?path={path}", *headers)


def upload(shared_server, path, body):
    head = shared_server.request(
        "POST", f"branches/main/objects?path={path}", f"Content-Length: {len(body)}"
    )
    return head + body


@pytest.mark.usefixtures("depth")
def test_a_connection_serves_several_requests(shared_server, wire):
    for _ in range(3):
        wire.send(stat(shared_server))
        status, headers, body = wire.read_response()
        assert (status, json.loads(body)["size_bytes"]) == (200, len(CONTENT))
        assert headers["date"]
        assert headers["content-type"] == "application/json"
        assert headers["connection"] is None
        wire.send(upload(shared_server, "other.csv", b"1\n"))
        assert wire.read_response()[0] == 201
        wire.send(HEALTH)
        assert wire.read_response()[::2] == (200, b"alive!")


def test_a_head_may_arrive_byte_by_byte(shared_server, wire, depth):
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in shared_server.request("GET", depth):
        wire.send(bytes([byte]))
    assert wire.read_response()[::2] == (200, CONTENT)


def test_responses_to_pipelined_requests_are_in_order(shared_server, wire, depth):
    paths = [f"many-{number}.csv" for number in range(20)]
    requests = []
    for path in paths:
        requests += [
            upload(shared_server, path, path.encode()),
            stat(shared_server, path),
            stat(shared_server, "none"),
        ]
        requests += [shared_server.request("HEAD", depth), HEALTH]
    wire.send(*requests)
    for path in paths:
        assert wire.read_response()[0] == 201
        status, _, body = wire.read_response()
        assert (status, json.loads(body)["path"]) == (200, path)
        assert wire.read_response()[0] == 404
        assert wire.read_response("HEAD")[0] == 200
        assert wire.read_response()[::2] == (200, b"alive!")


@pytest.mark.slow
def test_a_client_may_send_many_requests_before_it_reads_responses(shared_server, wire, depth):
    count = 3_000
    wire.send(*[shared_server.request("GET", depth)] * count)
    for _ in range(count):
        assert wire.read_response()[::2] == (200, CONTENT)


@pytest.mark.parametrize(
    "headers", [("Content-Length: 9",), ("Transfer-Encoding: chunked",)], ids=["length", "chunks"]
)
@pytest.mark.usefixtures("depth")
def test_an_unexpected_body_is_skipped(shared_server, wire, headers):
    body = b"9\r\nGET / HTT\r\n0\r\n\r\n" if "chunked" in headers[0] else b"GET / HTT"
    wire.send(stat(shared_server, "depth.csv", *headers), body[:4])
    assert wire.read_response()[0] == 200
    wire.send(body[4:], stat(shared_server))
    assert wire.read_response()[0] == 200


def test_a_small_body_may_arrive_in_several_segments(shared_server, wire):
    body = b"Mariana,10935\nTonga,10820\n"
    request = upload(shared_server, "pieces.csv", body)
    for cut in (len(request) - len(body), len(request) - 3, 20):
        wire.send(request[:cut])
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.send(request[cut:], shared_server.request("GET", "refs/main/objects?path=pieces.csv"))
        assert wire.read_response()[0] == 201
        assert wire.read_response()[::2] == (200, body)


def test_an_incomplete_small_upload_leaves_no_files(shared_server, wire, eventually):
    before = shared_server.files()
    wire.send(upload(shared_server, "broken.csv", b"1,2,3\n")[:-1])
    wire.close()
    eventually(lambda: shared_server.api.get("/config").status_code == 200)
    response = shared_server.api.get(
        "/repositories/sea/refs/main/objects", params={"path": "broken.csv"}
    )
    assert response.status_code == 404
    assert shared_server.files() == before


@pytest.mark.parametrize("size", [0, 1, 64 << 10, (64 << 10) + 1, 200_000])
def test_uploads_around_the_maximal_buffered_size_are_stored_whole(shared_server, wire, size):
    body = bytes(size)
    wire.send(upload(shared_server, "sized.csv", body), stat(shared_server, "sized.csv"))
    assert wire.read_response()[0] == 201
    status, _, body = wire.read_response()
    assert (status, json.loads(body)["size_bytes"]) == (200, size)


def test_a_small_upload_that_expects_100_continue_gets_it(shared_server, wire):
    body = b"Kermadec,10047\n"
    request = shared_server.request(
        "POST",
        "branches/main/objects?path=continued.csv",
        f"Content-Length: {len(body)}",
        "Expect: 100-continue",
    )
    wire.send(request)
    assert wire.file.readline() == b"HTTP/1.1 100 Continue\r\n"
    assert wire.file.readline() == b"\r\n"
    wire.send(body)
    assert wire.read_response()[0] == 201


def test_an_upload_with_connection_close_ends_the_connection(shared_server, wire):
    request = upload(shared_server, "last.csv", b"1\n")
    wire.send(request.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n"))
    status, headers, _ = wire.read_response()
    assert (status, headers["connection"]) == (201, "close")
    assert wire.at_end()


@pytest.mark.usefixtures("depth")
def test_a_request_with_connection_close_ends_the_connection(shared_server, wire):
    wire.send(stat(shared_server, "depth.csv", "Connection: close"))
    status, headers, body = wire.read_response()
    assert (status, headers["connection"]) == (200, "close")
    assert json.loads(body)["path"] == "depth.csv"
    assert wire.at_end()


@pytest.mark.usefixtures("depth")
def test_a_request_of_http_1_0_ends_the_connection(shared_server, wire):
    wire.send(stat(shared_server).replace(b"HTTP/1.1", b"HTTP/1.0"))
    status, headers, body = wire.read_response()
    assert (status, headers["connection"]) == (200, "close")
    assert json.loads(body)["path"] == "depth.csv"
    assert wire.at_end()


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb"])
def test_a_header_with_a_line_break_is_not_sent(value):
    date, etag = (b"date", b"today"), ("ETag", "\xc9")
    response = kernel.whole_answer(b"HTTP/1.1 200 OK\r\n", [date], [etag], b"body")
    assert response == b"HTTP/1.1 200 OK\r\ndate: today\r\netag: \xc9\r\n\r\nbody"
    assert kernel.whole_answer(b"HTTP/1.1 200 OK\r\n", [date], [("etag", value)], b"") is None
