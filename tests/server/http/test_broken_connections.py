"""Clients that break off, stall, trickle or never read: nothing half done, nothing held up."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time

import pytest

OBJECTS = "branches/main/objects"
BLOCK = os.urandom(65536)


def answered(connection: socket.socket) -> bytes:
    """Returns one whole answer: its head, and as much as its length says."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().splitlines()
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def status(connection: socket.socket) -> int:
    return int(answered(connection).split()[1])


def absent(shared_server, path):
    return (
        shared_server.api.get(
            "/repositories/sea/refs/main/objects/stat", params={"path": path}
        ).status_code
        == 404
    )


def put(shared_server, path, content):
    answer = shared_server.api.post(
        f"/repositories/sea/{OBJECTS}", params={"path": path}, content=content
    )
    assert answer.status_code == 201


def break_off(connection: socket.socket) -> None:
    """Ends a connection at once, as a crashed machine's would end."""
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
    "no chunks": (["Transfer-Encoding: chunked"], framed(BLOCK) + b"tea\r\n"),
    "form": (
        ["Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000000"],
        FORM_HEAD + BLOCK,
    ),
    "form without its last byte": (
        ["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(FORM_HEAD) + 20}"],
        FORM_HEAD + b"0123456789\r\n--b--",
    ),
}


@pytest.mark.parametrize("end", [socket.socket.close, break_off], ids=["close", "reset"])
@pytest.mark.parametrize("kind", BODIES)
def test_an_upload_that_breaks_off_leaves_nothing(shared_server, eventually, kind, end):
    headers, body = BODIES[kind]
    before = shared_server.files()
    connection = shared_server.connect()
    connection.sendall(shared_server.request("POST", f"{OBJECTS}?path=broken", *headers) + body)
    time.sleep(0.1)
    end(connection)
    eventually(lambda: not shared_server.open_files() and shared_server.files() == before)
    assert absent(shared_server, "broken")
    eventually(lambda: shared_server.files() == before)


def test_an_upload_over_an_object_that_breaks_off_leaves_the_object(shared_server, eventually):
    put(shared_server, "kept", b"as it was")
    connection = shared_server.connect()
    head = shared_server.request("POST", f"{OBJECTS}?path=kept", "Content-Length: 1000000")
    connection.sendall(head + BLOCK)
    time.sleep(0.1)
    connection.close()
    eventually(lambda: not shared_server.open_files())
    got = shared_server.api.get("/repositories/sea/refs/main/objects", params={"path": "kept"})
    assert got.content == b"as it was"


def test_a_body_of_json_that_breaks_off_does_nothing(shared_server):
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


def test_an_upload_that_trickles_arrives(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request("POST", f"{OBJECTS}?path=trickle", "Content-Length: 40")
        connection.sendall(head)
        for _ in range(40):
            connection.sendall(b"x")
            time.sleep(0.005)
        assert status(connection) == 201


def test_a_client_that_waits_to_be_asked_for_its_body(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request(
            "POST", f"{OBJECTS}?path=asked", "Content-Length: 3", "Expect: 100-continue"
        )
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100")
        connection.sendall(b"tea")
        assert status(connection) == 201


def test_unauthenticated_upload_is_refused_before_its_body(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request("POST", f"{OBJECTS}?path=nobody", "Content-Length: 1000000000")
        connection.sendall(head.replace(b"Authorization", b"X-Nothing") + BLOCK)
        assert status(connection) == 401
    assert absent(shared_server, "nobody")


def test_requests_one_after_another_on_one_connection_after_a_refusal(shared_server):
    with shared_server.connect() as connection:
        head = shared_server.request("POST", f"{OBJECTS}?path=", "Content-Length: 200000")
        connection.sendall(head + b"x" * 200_000)
        assert status(connection) == 400
        connection.sendall(shared_server.request("GET", "branches/main"))
        assert status(connection) == 200


def test_uploads_that_stall_hold_nothing_up_and_have_a_limit(shared_server, eventually):
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(shared_server.connect()) for _ in range(128)]
        for number, connection in enumerate(stalled):
            head = shared_server.request(
                "POST", f"{OBJECTS}?path=s{number}", "Content-Length: 99999"
            )
            connection.sendall(head + b"x")
        time.sleep(0.3)
        started = time.monotonic()
        for _ in range(20):
            put(shared_server, "small", b"x")
            assert shared_server.api.get("/repositories/sea/branches").status_code == 200
        assert time.monotonic() - started < 60
        beyond = stack.enter_context(shared_server.connect())
        head = shared_server.request("POST", f"{OBJECTS}?path=beyond", "Content-Length: 99999")
        beyond.sendall(head + b"x")
        answer = answered(beyond)
        assert answer.split()[1] == b"503"
        assert b"retry-after: 1" in answer
    eventually(lambda: not shared_server.open_files())
    assert absent(shared_server, "s0")
    body = [b"y" * 70000, b"z"]
    put(shared_server, "afterwards", iter(body))


def test_small_uploads_that_stall_take_no_thread(shared_server):
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


@pytest.mark.parametrize("end", [socket.socket.close, break_off], ids=["close", "reset"])
def test_nothing_more_is_read_for_a_client_that_went_away(shared_server, eventually, large, end):
    before = shared_server.bytes_read()
    connection = download(shared_server)
    assert len(connection.recv(100_000)) > 0
    eventually(lambda: shared_server.bytes_read() - before > 100_000)
    end(connection)
    eventually(lambda: not shared_server.open_files())
    assert shared_server.bytes_read() - before < large // 2


def test_clients_that_do_not_read_hold_nothing_up_and_cost_little(shared_server, eventually, large):
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
        # a few pieces of 1 MiB for each, far from the object's size
        assert shared_server.memory() - before < 80 * 8 * 1024 * 1024
        last = idle[-1]
        rest = 0
        while rest < large - 65536:
            rest += len(last.recv(1 << 20))
    eventually(lambda: not shared_server.open_files())


def test_large_bodies_go_through_without_being_held(shared_server):
    before = shared_server.memory()
    size = 256 * 1024 * 1024
    put(shared_server, "huge", (BLOCK for _ in range(size // len(BLOCK))))
    files = {"content": ("n", Endless(64 * 1024 * 1024))}
    url = f"/repositories/sea/{OBJECTS}"
    assert shared_server.api.post(url, params={"path": "form"}, files=files).status_code == 201
    received = 0
    with shared_server.api.stream(
        "GET", "/repositories/sea/refs/main/objects", params={"path": "huge"}
    ) as answer:
        for piece in answer.iter_raw():
            received += len(piece)
    assert received == size
    assert shared_server.memory() - before < 64 * 1024 * 1024


class Endless:
    """A file of zeros."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, length: int = -1) -> bytes:
        taken = self.left if length < 0 else min(length, self.left)
        self.left -= taken
        return bytes(taken)


def test_data_that_is_lost_while_it_is_sent_breaks_the_answer_off(shared_server):
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
