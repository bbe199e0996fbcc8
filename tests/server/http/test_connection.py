"""Connections, looked at as bytes: one request after another, many at once, and odd ends."""

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
    answer = shared_server.api.post("/repositories/sea/branches/main/objects", **upload)
    assert answer.status_code == 201
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
def test_one_request_after_another(shared_server, wire):
    for _ in range(3):
        wire.send(stat(shared_server))
        status, headers, body = wire.answer()
        assert (status, json.loads(body)["size_bytes"]) == (200, len(CONTENT))
        assert headers["date"]
        assert headers["content-type"] == "application/json"
        assert headers["connection"] is None
        wire.send(upload(shared_server, "other.csv", b"1\n"))
        assert wire.answer()[0] == 201
        wire.send(HEALTH)
        assert wire.answer()[::2] == (200, b"alive!")


def test_a_head_that_comes_byte_by_byte(shared_server, wire, depth):
    wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in shared_server.request("GET", depth):
        wire.send(bytes([byte]))
    assert wire.answer()[::2] == (200, CONTENT)


def test_many_at_once_are_answered_in_their_order(shared_server, wire, depth):
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
        assert wire.answer()[0] == 201
        status, _, body = wire.answer()
        assert (status, json.loads(body)["path"]) == (200, path)
        assert wire.answer()[0] == 404
        assert wire.answer("HEAD")[0] == 200
        assert wire.answer()[::2] == (200, b"alive!")


def test_answers_come_although_the_client_reads_none_for_long(shared_server, wire, depth):
    amount = 3_000
    wire.send(*[shared_server.request("GET", depth)] * amount)
    for _ in range(amount):
        assert wire.answer()[::2] == (200, CONTENT)


@pytest.mark.parametrize(
    "headers", [("Content-Length: 9",), ("Transfer-Encoding: chunked",)], ids=["length", "chunks"]
)
@pytest.mark.usefixtures("depth")
def test_unexpected_body_is_skipped(shared_server, wire, headers):
    body = b"9\r\nGET / HTT\r\n0\r\n\r\n" if "chunked" in headers[0] else b"GET / HTT"
    wire.send(stat(shared_server, "depth.csv", *headers), body[:4])
    assert wire.answer()[0] == 200
    wire.send(body[4:], stat(shared_server))
    assert wire.answer()[0] == 200


def test_small_bodies_that_come_in_pieces(shared_server, wire):
    body = b"Mariana,10935\nTonga,10820\n"
    request = upload(shared_server, "pieces.csv", body)
    for cut in (len(request) - len(body), len(request) - 3, 20):
        wire.send(request[:cut])
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.send(request[cut:], shared_server.request("GET", "refs/main/objects?path=pieces.csv"))
        assert wire.answer()[0] == 201
        assert wire.answer()[::2] == (200, body)


def test_a_small_body_without_its_end_leaves_nothing(shared_server, wire, eventually):
    before = shared_server.files()
    wire.send(upload(shared_server, "broken.csv", b"1,2,3\n")[:-1])
    wire.close()
    eventually(lambda: shared_server.api.get("/config").status_code == 200)
    answer = shared_server.api.get(
        "/repositories/sea/refs/main/objects", params={"path": "broken.csv"}
    )
    assert answer.status_code == 404
    assert shared_server.files() == before


@pytest.mark.parametrize("size", [0, 1, 64 << 10, (64 << 10) + 1, 200_000])
def test_bodies_around_the_size_that_is_held_whole(shared_server, wire, size):
    body = bytes(size)
    wire.send(upload(shared_server, "sized.csv", body), stat(shared_server, "sized.csv"))
    assert wire.answer()[0] == 201
    status, _, described = wire.answer()
    assert (status, json.loads(described)["size_bytes"]) == (200, size)


def test_a_small_body_is_asked_for(shared_server, wire):
    body = b"Kermadec,10047\n"
    request = shared_server.request(
        "POST",
        "branches/main/objects?path=asked.csv",
        f"Content-Length: {len(body)}",
        "Expect: 100-continue",
    )
    wire.send(request)
    assert wire.file.readline() == b"HTTP/1.1 100 Continue\r\n"
    assert wire.file.readline() == b"\r\n"
    wire.send(body)
    assert wire.answer()[0] == 201


def test_the_last_of_a_connection_may_have_a_body(shared_server, wire):
    request = upload(shared_server, "last.csv", b"1\n")
    wire.send(request.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n"))
    status, headers, _ = wire.answer()
    assert (status, headers["connection"]) == (201, "close")
    assert wire.at_end()


@pytest.mark.usefixtures("depth")
def test_the_last_of_a_connection(shared_server, wire):
    wire.send(stat(shared_server, "depth.csv", "Connection: close"))
    status, headers, body = wire.answer()
    assert (status, headers["connection"]) == (200, "close")
    assert json.loads(body)["path"] == "depth.csv"
    assert wire.at_end()


@pytest.mark.usefixtures("depth")
def test_the_older_protocol(shared_server, wire):
    wire.send(stat(shared_server).replace(b"HTTP/1.1", b"HTTP/1.0"))
    status, headers, body = wire.answer()
    assert (status, headers["connection"]) == (200, "close")
    assert json.loads(body)["path"] == "depth.csv"
    assert wire.at_end()


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "a\rb"])
def test_a_header_is_one_line(value):
    date, etag = (b"date", b"today"), ("ETag", "\xc9")
    answer = kernel.whole_answer(b"HTTP/1.1 200 OK\r\n", [date], [etag], b"body")
    assert answer == b"HTTP/1.1 200 OK\r\ndate: today\r\netag: \xc9\r\n\r\nbody"
    assert kernel.whole_answer(b"HTTP/1.1 200 OK\r\n", [date], [("etag", value)], b"") is None
