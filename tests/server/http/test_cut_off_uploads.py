"""Clients that disconnect during an upload leave neither an object nor files."""

from __future__ import annotations

import base64
import socket
import struct
from urllib.parse import urlsplit

import pytest
from support.clients.no_retry_client import Caller
from support.leftovers import strays
from support.stored_files import open_stored_files, stored_files

from anabranch.testing.server import running_server

REPOSITORY = "cut-off"
SENT = b"x" * 3_000_000
LENGTH = 10_000_000


def chunked():
    return "Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(SENT), SENT)


def within_a_chunk():
    return "Transfer-Encoding: chunked", b"%x\r\n%b" % (LENGTH, SENT)


def by_length():
    return f"Content-Length: {LENGTH}", SENT


def as_a_form():
    head = b'--X\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\n'
    return f"Content-Length: {LENGTH}\r\nContent-Type: multipart/form-data; boundary=X", head + SENT


def before_the_last_boundary():
    """A body of the announced length without the final boundary."""
    head = b'--X\r\nContent-Disposition: form-data; name="content"; filename="a"\r\n\r\n'
    body = head + SENT
    return (
        f"Content-Length: {len(body)}\r\nContent-Type: multipart/form-data; boundary=X",
        body,
    )


def upload(server, path, kind):
    """Returns a connection on which an upload has started."""
    address = urlsplit(server.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    headers, body = kind()
    pair = base64.b64encode(":".join(server.auth).encode()).decode()
    target = f"/api/v1/repositories/{REPOSITORY}/branches/main/objects?path={path}"
    lines = [f"POST {target} HTTP/1.1", "Host: x", f"Authorization: Basic {pair}", headers, "", ""]
    connection.sendall("\r\n".join(lines).encode())
    connection.sendall(body)
    return connection


def close(connection):
    connection.close()


def reset(connection):
    """Resets the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def half_close(connection):
    """Shuts down the sending side, and waits for the response."""
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1000)
    connection.close()


def files(root):
    return stored_files(root / "block")


def open_bodies(server, root):
    return open_stored_files(server.pid, root / "block")


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    """A server, a client and the server's folder."""
    root = tmp_path_factory.mktemp("cut-off")
    with running_server(root) as server:
        call = Caller(server)
        call.make_repository(REPOSITORY)
        assert call.put(REPOSITORY, "main", "kept", b"kept").status == 201
        yield server, call, root


@pytest.mark.parametrize("end", [close, reset, half_close])
@pytest.mark.parametrize("kind", [by_length, chunked, within_a_chunk, as_a_form])
@pytest.mark.sample(6)
def test_an_interrupted_upload_leaves_no_object_and_no_files(cut_off, eventually, kind, end):
    server, call, root = cut_off
    path = f"{kind.__name__}-{end.__name__}"
    before = files(root)
    end(upload(server, path, kind))
    eventually(lambda: not open_bodies(server, root) and files(root) == before)
    assert call.get(REPOSITORY, "main", path).status == 404
    eventually(lambda: files(root) == before)
    # other objects are unchanged
    assert call.get(REPOSITORY, "main", "kept").body == b"kept"


def test_a_form_without_its_final_boundary_is_refused(cut_off):
    server, call, root = cut_off
    before = files(root)
    connection = upload(server, "form", before_the_last_boundary)
    assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
    connection.close()
    assert call.get(REPOSITORY, "main", "form").status == 404
    assert files(root) == before


def test_an_interrupted_overwrite_leaves_the_object_unchanged(cut_off):
    server, call, _ = cut_off
    reset(upload(server, "kept", by_length))
    assert call.get(REPOSITORY, "main", "kept").body == b"kept"


@pytest.mark.slow
def test_a_server_killed_during_an_upload_leaves_no_files(tmp_path, eventually):
    with running_server(tmp_path) as server:
        Caller(server).make_repository(REPOSITORY)
        connection = upload(server, "a", by_length)
        eventually(lambda: open_bodies(server, tmp_path))
        server.process.kill()
        server.process.wait()
        connection.close()
    assert strays(tmp_path) == []
    with running_server(tmp_path) as server:
        assert Caller(server).get(REPOSITORY, "main", "a").status == 404
