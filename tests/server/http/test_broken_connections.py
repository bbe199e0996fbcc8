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


def absent(house, path):
    return (
        house.api.get("/repositories/sea/refs/main/objects/stat", params={"path": path}).status_code
        == 404
    )


def put(house, path, content):
    answer = house.api.post(f"/repositories/sea/{OBJECTS}", params={"path": path}, content=content)
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
def test_an_upload_that_breaks_off_leaves_nothing(house, eventually, kind, end):
    headers, body = BODIES[kind]
    before = house.files()
    connection = house.connect()
    connection.sendall(house.request("POST", f"{OBJECTS}?path=broken", *headers) + body)
    time.sleep(0.1)
    end(connection)
    eventually(lambda: not house.open_files() and house.files() == before)
    assert absent(house, "broken")
    eventually(lambda: house.files() == before)


def test_an_upload_over_an_object_that_breaks_off_leaves_the_object(house, eventually):
    put(house, "kept", b"as it was")
    connection = house.connect()
    head = house.request("POST", f"{OBJECTS}?path=kept", "Content-Length: 1000000")
    connection.sendall(head + BLOCK)
    time.sleep(0.1)
    connection.close()
    eventually(lambda: not house.open_files())
    got = house.api.get("/repositories/sea/refs/main/objects", params={"path": "kept"})
    assert got.content == b"as it was"


def test_a_body_of_json_that_breaks_off_does_nothing(house):
    connection = house.connect()
    body = b'{"name":"half","source":"main"'
    head = house.request(
        "POST", "branches", "Content-Type: application/json", f"Content-Length: {len(body) + 1}"
    )
    connection.sendall(head + body)
    time.sleep(0.1)
    connection.close()
    time.sleep(0.1)
    assert house.api.get("/repositories/sea/branches/half").status_code == 404


def test_an_upload_that_trickles_arrives(house):
    with house.connect() as connection:
        head = house.request("POST", f"{OBJECTS}?path=trickle", "Content-Length: 40")
        connection.sendall(head)
        for _ in range(40):
            connection.sendall(b"x")
            time.sleep(0.005)
        assert status(connection) == 201


def test_a_client_that_waits_to_be_asked_for_its_body(house):
    with house.connect() as connection:
        head = house.request(
            "POST", f"{OBJECTS}?path=asked", "Content-Length: 3", "Expect: 100-continue"
        )
        connection.sendall(head)
        assert connection.recv(65536).startswith(b"HTTP/1.1 100")
        connection.sendall(b"tea")
        assert status(connection) == 201


def test_an_upload_by_nobody_is_refused_before_it_has_arrived(house):
    with house.connect() as connection:
        head = house.request("POST", f"{OBJECTS}?path=nobody", "Content-Length: 1000000000")
        connection.sendall(head.replace(b"Authorization", b"X-Nothing") + BLOCK)
        assert status(connection) == 401
    assert absent(house, "nobody")


def test_requests_one_after_another_on_one_connection_after_a_refusal(house):
    with house.connect() as connection:
        head = house.request("POST", f"{OBJECTS}?path=", "Content-Length: 200000")
        connection.sendall(head + b"x" * 200_000)
        assert status(connection) == 400
        connection.sendall(house.request("GET", "branches/main"))
        assert status(connection) == 200


def test_uploads_that_stall_hold_nothing_up_and_have_a_limit(house, eventually):
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(house.connect()) for _ in range(128)]
        for number, connection in enumerate(stalled):
            head = house.request("POST", f"{OBJECTS}?path=s{number}", "Content-Length: 99999")
            connection.sendall(head + b"x")
        time.sleep(0.3)
        started = time.monotonic()
        for _ in range(20):
            put(house, "small", b"x")
            assert house.api.get("/repositories/sea/branches").status_code == 200
        assert time.monotonic() - started < 60
        beyond = stack.enter_context(house.connect())
        head = house.request("POST", f"{OBJECTS}?path=beyond", "Content-Length: 99999")
        beyond.sendall(head + b"x")
        answer = answered(beyond)
        assert answer.split()[1] == b"503"
        assert b"retry-after: 1" in answer
    eventually(lambda: not house.open_files())
    assert absent(house, "s0")
    body = [b"y" * 70000, b"z"]
    put(house, "afterwards", iter(body))


def test_small_uploads_that_stall_take_no_thread(house):
    with contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(house.connect()) for _ in range(300)]
        for number, connection in enumerate(stalled):
            head = house.request("POST", f"{OBJECTS}?path=t{number}", "Content-Length: 9999")
            connection.sendall(head + b"x")
        put(house, "meanwhile", b"x")
        stalled[7].sendall(b"y" * 9998)
        assert status(stalled[7]) == 201
    assert absent(house, "t8")
    assert not absent(house, "t7")


@pytest.fixture(scope="module")
def large(house):
    size = 48 * 1024 * 1024
    put(house, "large", (BLOCK for _ in range(size // len(BLOCK))))
    return size


def download(house) -> socket.socket:
    connection = house.connect()
    connection.sendall(house.request("GET", "refs/main/objects?path=large"))
    return connection


@pytest.mark.parametrize("end", [socket.socket.close, break_off], ids=["close", "reset"])
def test_nothing_more_is_read_for_a_client_that_went_away(house, eventually, large, end):
    before = house.bytes_read()
    connection = download(house)
    assert len(connection.recv(100_000)) > 0
    eventually(lambda: house.bytes_read() - before > 100_000)
    end(connection)
    eventually(lambda: not house.open_files())
    assert house.bytes_read() - before < large // 2


def test_clients_that_do_not_read_hold_nothing_up_and_cost_little(house, eventually, large):
    before = house.memory()
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(download(house)) for _ in range(80)]
        for connection in idle:
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)
        started = time.monotonic()
        for _ in range(20):
            put(house, "small", b"x")
        assert time.monotonic() - started < 60
        # a few pieces of 1 MiB for each, far from the object's size
        assert house.memory() - before < 80 * 8 * 1024 * 1024
        last = idle[-1]
        rest = 0
        while rest < large - 65536:
            rest += len(last.recv(1 << 20))
    eventually(lambda: not house.open_files())


def test_large_bodies_go_through_without_being_held(house):
    before = house.memory()
    size = 256 * 1024 * 1024
    put(house, "huge", (BLOCK for _ in range(size // len(BLOCK))))
    files = {"content": ("n", Endless(64 * 1024 * 1024))}
    url = f"/repositories/sea/{OBJECTS}"
    assert house.api.post(url, params={"path": "form"}, files=files).status_code == 201
    received = 0
    with house.api.stream(
        "GET", "/repositories/sea/refs/main/objects", params={"path": "huge"}
    ) as answer:
        for piece in answer.iter_raw():
            received += len(piece)
    assert received == size
    assert house.memory() - before < 64 * 1024 * 1024


class Endless:
    """A file of zeros."""

    def __init__(self, size: int) -> None:
        self.left = size

    def read(self, length: int = -1) -> bytes:
        taken = self.left if length < 0 else min(length, self.left)
        self.left -= taken
        return bytes(taken)


def test_data_that_is_lost_while_it_is_sent_breaks_the_answer_off(house):
    put(house, "lost", (BLOCK for _ in range(400)))
    stat = house.api.get("/repositories/sea/refs/main/objects/stat", params={"path": "lost"})
    path = stat.json()["physical_address"].removeprefix("local://")
    connection = house.connect()
    connection.sendall(house.request("GET", "refs/main/objects?path=lost"))
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    os.truncate(path, 1000)
    received = 1000
    with connection, contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 20):
            received += len(piece)
    assert received < stat.json()["size_bytes"]
    gone = house.api.get("/repositories/sea/refs/main/objects", params={"path": "lost"})
    assert gone.status_code == 410
