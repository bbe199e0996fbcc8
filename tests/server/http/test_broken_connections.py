"""Clients that disconnect, stall, send slowly or never read leave no partial changes and do not
delay other clients.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time

import httpx2
import pytest
from support.session.sizes import sized

OBJECTS = "branches/main/objects"
BLOCK = os.urandom(65536)


def read_response(connection: socket.socket) -> bytes:
    """Returns one response: its head, and as much of a body as Content-Length announces."""
    response = b""
    while b"\r\n\r\n" not in response:
        response += connection.recv(65536)
    head, _, body = response.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().splitlines()
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def status(connection: socket.socket) -> int:
    return int(read_response(connection).split()[1])


def absent(shared_server, path):
    return (
        shared_server.api.get(
            "/repositories/sea/refs/main/objects/stat", params={"path": path}
        ).status_code
        == 404
    )


def put(shared_server, path, content):
    response = shared_server.api.post(
        f"/repositories/sea/{OBJECTS}", params={"path": path}, content=content
    )
    assert response.status_code == 201


def reset(connection: socket.socket) -> None:
    """Resets a connection, as if the client had crashed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def framed(chunk: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(chunk), chunk)


FORM_HEAD = b'--b\r\nContent-Disposition: form-data; name="content"\r\n\r\n'

BODIES = {
    "length": (["Content-Length: 1000000"], BLOCK),
    "chunked": (["Transfer-Encoding: chunked"], framed(BLOCK) * 3),
    "chunk cut": (["Transfer-Encoding: chunked"], framed(BLOCK)[:-1000]),
    "chunks without an end": (["Transfer-Encoding: chunked"], framed(b"whole")),
    "no chunks": (["Transfer-Encoding: chunked"], framed(BLOCK) + b"abc\r\n"),
    "form": (
        ["Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000000"],
        FORM_HEAD + BLOCK,
    ),
    "form without its last byte": (
        ["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(FORM_HEAD) + 20}"],
        FORM_HEAD + b"0123456789\r\n--b--",
    ),
}


@pytest.mark.parametrize("end", [socket.socket.close, reset], ids=["close", "reset"])
@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.sample(2)
def test_an_interrupted_upload_leaves_no_files(shared_server, eventually, kind, end):
    headers, body = BODIES[kind]
    before = shared_server.files()
    connection = shared_server.connect()
    connection.sendall(shared_server.request("POST", f"{OBJECTS}?path=broken", *headers) + body)
    time.sleep(0.1)
    end(connection)
    eventually(lambda: not shared_server.open_files() and shared_server.files() == before)
    assert absent(shared_server, "broken")
    eventually(lambda: shared_server.files() == before)


def test_an_interrupted_overwrite_leaves_the_object_unchanged(shared_server, eventually):
    put(shared_server, "kept", b"original")
    connection = shared_server.connect()
    head = shared_server.request("POST", f"{OBJECTS}?path=kept", "Content-Length: 1000000")
    connection.sendall(head + BLOCK)
    time.sleep(0.1)
    connection.close()
    eventually(lambda: not shared_server.open_files())
    response = shared_server.api.get("/repositories/sea/refs/main/objects", params={"path": "kept"})
    assert response.content == b"original"


def test_a_request_with_an_incomplete_json_body_changes_nothing(shared_server):
    connection = shared_server.connect()
    body = b'{"name":"half","source":"main"'
    head = shared_server.request(
        "POST", "branches", "Content-Type: application/json", f"Content-Length: {len(body) + 1}"
    )
    connection.sendall(head + body)
    time.sleep(0.1)
    connection.close()
    time.sleep(0.1)
    assert shared_server.api.get("/repositories/sea/branches/half").status_code == 404


def test_an_upload_in_single_bytes_succeeds(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request("POST", f"{OBJECTS}?path=trickle", "Content-Length: 40")
        connection.sendall(head)
        for _ in range(40):
            connection.sendall(b"x")
            time.sleep(0.005)
        assert status(connection) == 201


def test_a_client_that_expects_100_continue_gets_it_before_the_body(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request(
            "POST", f"{OBJECTS}?path=continued", "Content-Length: 3", "Expect: 100-continue"
        )
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100")
        connection.sendall(b"abc")
        assert status(connection) == 201


def test_unauthenticated_upload_is_refused_before_its_body(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request(
            "POST", f"{OBJECTS}?path=unauthenticated", "Content-Length: 1000000000"
        )
        connection.sendall(head.replace(b"Authorization", b"X-Nothing") + BLOCK)
        assert status(connection) == 401
    assert absent(shared_server, "unauthenticated")


def test_a_connection_serves_further_requests_after_an_error(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request("POST", f"{OBJECTS}?path=", "Content-Length: 200000")
        connection.sendall(head + b"x" * 200_000)
        assert status(connection) == 400
        connection.sendall(shared_server.request("GET", "branches/main"))
        assert status(connection) == 200


BEGUN = b"x" * 140_000
"""As much of a body as makes a thread begin with it."""


def readable(connections):
    return select.select(connections, [], [], 0)[0]


def other_administrator(api):
    """Returns the key pair of a second administrator."""
    assert api.post("/auth/users", json={"id": "other"}).status_code == 201
    assert api.put("/auth/groups/Admins/members/other").status_code == 201
    pair = api.post("/auth/users/other/credentials").json()
    return pair["access_key_id"], pair["secret_access_key"]


def stall(server, stack, name, count, sent):
    """Begins uploads of which no more than `sent` arrives; returns their connections."""
    stalled = [stack.enter_context(server.connect()) for _ in range(count)]
    for number, connection in enumerate(stalled):
        target = f"{OBJECTS}?path={name}{number}"
        connection.sendall(server.request("POST", target, "Content-Length: 1000000") + sent)
    return stalled


def test_uploads_that_stall_do_not_delay_others(shared_server):
    with contextlib.ExitStack() as stack:
        stall(shared_server, stack, "stalled", 300, b"x")
        body = [BLOCK, BLOCK, b"z"]
        put(shared_server, "meanwhile", iter(body))
        assert shared_server.api.get("/repositories/sea/branches").status_code == 200
    assert absent(shared_server, "stalled0")
    assert not absent(shared_server, "meanwhile")


@pytest.mark.slow
def test_uploads_that_stall_later_take_a_share_of_the_threads(shared_server, eventually):
    other = other_administrator(shared_server.api)
    body = [BLOCK, BLOCK, b"z"]
    with contextlib.ExitStack() as stack:
        # of 64 threads and 128 places to wait one user has three quarters
        stalled = stall(shared_server, stack, "later", 144 + 6, BEGUN)
        eventually(lambda: len(readable(stalled)) == 6)
        for refused in readable(stalled):
            response = read_response(refused)
            assert response.split()[1] == b"503"
            assert b"retry-after: 1" in response
        started = time.monotonic()
        for _ in range(20):
            put(shared_server, "small", b"x")
            assert shared_server.api.get("/repositories/sea/branches").status_code == 200
        assert time.monotonic() - started < 60
        with httpx2.Client(base_url=shared_server.api.base_url, auth=other, timeout=60) as client:
            url = f"/repositories/sea/{OBJECTS}"
            response = client.post(url, params={"path": "other"}, content=iter(body))
        assert response.status_code == 201, response.text
        assert "requests refused since too many wait" in shared_server.server.log.read_text()
    eventually(lambda: not shared_server.open_files())
    assert absent(shared_server, "later0")
    put(shared_server, "afterwards", iter(body))


def test_small_stalled_uploads_do_not_occupy_threads(shared_server):
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(shared_server.connect()) for _ in range(300)]
        for number, connection in enumerate(stalled):
            head = shared_server.request(
                "POST", f"{OBJECTS}?path=t{number}", "Content-Length: 9999"
            )
            connection.sendall(head + b"x")
        put(shared_server, "meanwhile", b"x")
        stalled[7].sendall(b"y" * 9998)
        assert status(stalled[7]) == 201
    assert absent(shared_server, "t8")
    assert not absent(shared_server, "t7")


@pytest.fixture(scope="module")
def large(shared_server):
    size = 48 * 1024 * 1024
    put(shared_server, "large", (BLOCK for _ in range(size // len(BLOCK))))
    return size


def download(shared_server) -> socket.socket:
    connection = shared_server.connect()
    connection.sendall(shared_server.request("GET", "refs/main/objects?path=large"))
    return connection


@pytest.mark.parametrize("end", [socket.socket.close, reset], ids=["close", "reset"])
def test_an_object_is_not_read_further_after_its_client_disconnects(
    shared_server, eventually, large, end
):
    before = shared_server.bytes_read()
    connection = download(shared_server)
    assert len(connection.recv(100_000)) > 0
    eventually(lambda: shared_server.bytes_read() - before > 100_000)
    end(connection)
    eventually(lambda: not shared_server.open_files())
    assert shared_server.bytes_read() - before < large // 2


@pytest.mark.slow
def test_clients_that_do_not_read_do_not_delay_others_and_use_little_memory(
    shared_server, eventually, large
):
    before = shared_server.memory()
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(download(shared_server)) for _ in range(80)]
        for connection in idle:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)
        started = time.monotonic()
        for _ in range(20):
            put(shared_server, "small", b"x")
        assert time.monotonic() - started < 60
        # a few chunks of 1 MiB for each client, much less than the object's size
        assert shared_server.memory() - before < 80 * 8 * 1024 * 1024
        last = idle[-1]
        received = 0
        while received < large - 65536:
            received += len(last.recv(1 << 20))
    eventually(lambda: not shared_server.open_files())


def test_large_bodies_are_streamed_in_little_memory(shared_server):
    before = shared_server.memory()
    size = sized(80, weekly=256) * 1024 * 1024
    put(shared_server, "huge", (BLOCK for _ in range(size // len(BLOCK))))
    files = {"content": ("n", Zeros(64 * 1024 * 1024))}
    url = f"/repositories/sea/{OBJECTS}"
    assert shared_server.api.post(url, params={"path": "form"}, files=files).status_code == 201
    received = 0
    with shared_server.api.stream(
        "GET", "/repositories/sea/refs/main/objects", params={"path": "huge"}
    ) as response:
        for piece in response.iter_raw():
            received += len(piece)
    assert received == size
    assert shared_server.memory() - before < 64 * 1024 * 1024


class Zeros:
    """A file of zeros."""

    def __init__(self, size: int) -> None:
        self.remaining = size

    def read(self, length: int = -1) -> bytes:
        count = self.remaining if length < 0 else min(length, self.remaining)
        self.remaining -= count
        return bytes(count)


def test_a_response_is_cut_off_if_its_object_is_lost_while_it_is_sent(shared_server):
    put(shared_server, "lost", (BLOCK for _ in range(400)))
    stat = shared_server.api.get(
        "/repositories/sea/refs/main/objects/stat", params={"path": "lost"}
    )
    path = stat.json()["physical_address"].removeprefix("local://")
    connection = shared_server.connect()
    connection.sendall(shared_server.request("GET", "refs/main/objects?path=lost"))
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    os.truncate(path, 1000)
    received = 1000
    with connection, contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 20):
            received += len(piece)
    assert received < stat.json()["size_bytes"]
    gone = shared_server.api.get("/repositories/sea/refs/main/objects", params={"path": "lost"})
    assert gone.status_code == 410
