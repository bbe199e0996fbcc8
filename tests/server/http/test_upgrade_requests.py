"""Offers to upgrade to another protocol are ignored: requests and their bodies are read."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing

import pytest
from support.clients.raw_connection import Wire
from support.clients.s3_client import s3_client

BODY = b"Java,7290\n"
OFFERS = {
    "java": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAA"),
    "websocket": ("Connection: Upgrade", "Upgrade: websocket"),
    "no-connection": ("Upgrade: h2c",),
    "twice": (
        "Connection: keep-alive",
        "Connection: upgrade",
        "Upgrade: h2c",
        "Upgrade: websocket",
    ),
}


@pytest.fixture
def wire(shared_server):
    with closing(Wire(shared_server.connect())) as wire:
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield wire


def read_object(shared_server, path):
    return shared_server.api.get(
        "/repositories/sea/refs/main/objects", params={"path": path}
    ).content


def send_apart(wire, *pieces):
    """Sends pieces so that the server reads each separately."""
    for piece in pieces:
        wire.send(piece)
        time.sleep(0.05)  # if the server reads them together, the test only covers less


@pytest.mark.sample(4)
@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("apart", [False, True], ids=["one-segment", "two-segments"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_an_upload_that_offers_an_upgrade_keeps_its_body(
    shared_server, wire, offer, apart, chunked
):
    path = f"{offer}-{apart}-{chunked}.csv"
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(BODY)}"
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY) if chunked else BODY
    target = f"branches/main/objects?path={path}"
    head = shared_server.request("POST", target, framing, *OFFERS[offer])
    send_apart(wire, *([head, body] if apart else [head + body]))
    status, _, stat = wire.read_response()
    assert (status, json.loads(stat)["size_bytes"]) == (201, len(BODY))
    assert read_object(shared_server, path) == BODY
    # the connection still uses HTTP/1.1
    wire.send(shared_server.request("GET", f"refs/main/objects/stat?path={path}", *OFFERS[offer]))
    assert wire.read_response()[0] == 200


def test_the_body_of_an_upgrade_request_is_not_the_next_request(shared_server, wire):
    hidden = shared_server.request(
        "POST", "branches/main/objects?path=hidden.csv", "Content-Length: 0"
    )
    head = shared_server.request(
        "GET", "refs/main/objects?path=none", f"Content-Length: {len(hidden)}", *OFFERS["java"]
    )
    send_apart(wire, head, hidden)
    assert wire.read_response()[0] == 404
    wire.send(shared_server.request("GET", "refs/main/objects/stat?path=hidden.csv"))
    assert wire.read_response()[0] == 404


def test_a_presigned_put_that_offers_an_upgrade_keeps_its_body(shared_server, wire):
    target = "branches/main/staging/backing?path=direct.csv&presign=true"
    staging = shared_server.api.get(f"/repositories/sea/{target}").json()
    url = staging["presigned_url"].split("/", 3)[3]
    lines = [f"PUT /{url} HTTP/1.1", "Host: sea", f"Content-Length: {len(BODY)}", *OFFERS["java"]]
    send_apart(wire, "\r\n".join([*lines, "", ""]).encode(), BODY)
    assert wire.read_response()[0] == 200
    link = {"staging": staging, "checksum": "0" * 32, "size_bytes": len(BODY)}
    response = shared_server.api.put(
        "/repositories/sea/branches/main/staging/backing",
        params={"path": "direct.csv"},
        json=link,
    )
    assert response.status_code == 200, response.text
    assert read_object(shared_server, "direct.csv") == BODY


def test_an_s3_put_that_offers_an_upgrade_keeps_its_body(shared_server, wire):
    client = s3_client(shared_server.server)
    params = {"Bucket": "sea", "Key": "main/signed.csv"}
    url = client.generate_presigned_url("put_object", Params=params)
    target = url.split("/", 3)[3]
    host = url.split("/", 3)[2]
    lines = [f"PUT /{target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(BODY)}"]
    head = "\r\n".join([*lines, *OFFERS["java"], "", ""]).encode()
    send_apart(wire, head, BODY)
    assert wire.read_response()[0] == 200
    assert read_object(shared_server, "signed.csv") == BODY
