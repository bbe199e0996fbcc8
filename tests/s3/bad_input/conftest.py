"""Requests that are wrong in one place, on bare sockets, against a server that is looked into.

A test says what is wrong and which error S3 gives. That the error is well-formed, that the
connection can be used again or is closed, and that nothing has changed, holds for all of them and
is looked at here.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import httpx2
import pytest
from support.stored_files import stored_files

from anabranch.model.secret import Secret
from anabranch.signing.sign import SignedHeaders, SigningCredentials, presign, sign_request
from anabranch.testing.server import Server, running_server

BUCKET = "sea"
UNSIGNED = "UNSIGNED-PAYLOAD"
Headers = Mapping[str, str]


class Reply(NamedTuple):
    """What came back, and whether the server said that it closes the connection."""

    status: int
    headers: dict[str, str]
    body: bytes
    closing: bool


class Wire:
    """Signs requests, damages them, sends them, and looks at what they did."""

    def __init__(self, server: Server, folder: Path, api: httpx2.Client) -> None:
        self.server = server
        self.api = api
        self.folder = folder
        self.commit = ""
        self._place = urlsplit(server.url)

    def sign(
        self,
        method: str,
        path: str,
        headers: Headers | None = None,
        *,
        payload: str = UNSIGNED,
        key: str = "",
        secret: str = "",
        skew: float = 0,
        at: float | None = None,
    ) -> SignedHeaders:
        """Returns a request's headers, signed at a time or now; `skew` is how far the clock is
        from ours.
        """
        server = self.server
        signer = SigningCredentials(
            key or server.access_key_id, Secret(secret or server.secret_access_key), "us-east-1"
        )
        url = server.url + path
        now = time.time() if at is None else at
        return sign_request(signer, method, url, headers or {}, time=now + skew, payload=payload)

    def presign(self, method: str, path: str, *, expires: int = 60, skew: float = 0) -> str:
        """Returns the path and query of a presigned URL."""
        signer = SigningCredentials(
            self.server.access_key_id, Secret(self.server.secret_access_key), "us-east-1"
        )
        url = presign(
            signer,
            method,
            self.server.url + path,
            time=time.time() + skew,
            expires=expires,
        )
        return url.removeprefix(self.server.url)

    def raw(self, method: str, path: str, headers: Headers, body: bytes = b"") -> bytes:
        """Returns a request's bytes with no other headers than these."""
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Headers | None = None,
        *,
        payload: str | None = None,
        then: Mapping[str, str | None] | None = None,
        sent: bytes | None = None,
        **signing: Any,
    ) -> bytes:
        """Returns a signed request's bytes; `then` changes headers after they were signed (None
        removes one), `sent` is sent in place of the body.
        """
        digest = hashlib.sha256(body).hexdigest() if payload is None else payload
        length = {"Content-Length": str(len(body if sent is None else sent))}
        signed = self.sign(method, path, headers, payload=digest, **signing).headers
        changed = {**signed, **({} if method == "GET" else length), **(then or {})}
        kept = {name: value for name, value in changed.items() if value is not None}
        return self.raw(method, path, kept, body if sent is None else sent)

    def connect(self) -> socket.socket:
        """Returns a bare connection."""
        address = (self._place.hostname, self._place.port)
        return socket.create_connection(address, timeout=60)

    def read(self, connection: socket.socket, method: str = "") -> Reply:
        """Returns the next answer on a connection."""
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        body = answer.read()
        return Reply(answer.status, headers, body, answer.will_close)

    def send(self, raw: bytes) -> Reply:
        """Returns the answer to a request, having seen that the connection is usable or closed."""
        with self.connect() as connection:
            connection.sendall(raw)
            reply = self.read(connection, raw.partition(b" ")[0].decode("latin-1"))
            if reply.closing:
                assert connection.recv(1) == b""
            else:
                head = self.request("HEAD", f"/{BUCKET}/main/abc", then={"Content-Length": None})
                connection.sendall(head)
                assert self.read(connection, "HEAD").status == 200
        return reply

    def state(self) -> tuple[str, ...]:
        """Returns all that the repository holds, with its branches and what is uncommitted."""
        root = f"/repositories/{BUCKET}"
        pages = [
            self.api.get(f"{root}/refs/{branch}/objects/ls", params={"amount": 1000})
            for branch in ("main", "locked")
        ]
        pages += [self.api.get(f"{root}/branches/{branch}/diff") for branch in ("main", "locked")]
        pages += [self.api.get(f"{root}/branches"), self.api.get(f"{root}/tags")]
        assert all(page.is_success for page in pages)
        return tuple(page.text for page in pages)

    def files(self) -> set[Path]:
        """Returns every file of the block store."""
        return stored_files(self.folder / "block")

    def nothing_came_of_it(self, before: tuple[tuple[str, ...], set[Path]]) -> None:
        """Sees that nothing has changed since; files that are being removed are given a moment."""
        deadline = time.monotonic() + 60
        while (now := (self.state(), self.files())) != before and time.monotonic() < deadline:
            time.sleep(0.02)
        assert now == before

    def refuses(self, raw: bytes, status: int, code: str) -> None:
        """Sends a request and sees that it is refused as S3 refuses it."""
        before = self.state(), self.files()
        reply = self.send(raw)
        assert (reply.status, code_of(reply, raw)) == (status, code), reply.body
        self.nothing_came_of_it(before)


def code_of(reply: Reply, raw: bytes) -> str:
    """Returns the code of an error, having seen that it is well-formed."""
    assert reply.headers["content-type"] == "application/xml"
    root = ET.fromstring(reply.body)  # noqa: S314  our own answer
    response = {child.tag: child.text or "" for child in root}
    assert root.tag == "Error"
    assert response["Message"]
    assert response["RequestId"] == reply.headers["x-amz-request-id"]
    assert response["HostId"] == reply.headers["x-amz-id-2"]
    assert response["Resource"] == raw.split(b" ")[1].partition(b"?")[0].decode("latin-1")
    return response["Code"]


@pytest.fixture(scope="package")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A server with a repository: objects committed and staged, a tag, a protected branch."""
    folder = tmp_path_factory.mktemp("bad-input")
    with (
        running_server(folder) as server,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as api,
    ):
        for name, read_only in ((BUCKET, False), ("fixed", True)):
            body = {"name": name, "storage_namespace": f"local://{name}", "read_only": read_only}
            assert api.post("/repositories", json=body).is_success
        root = f"/repositories/{BUCKET}"
        branch = f"{root}/branches/main"
        for path in ("abc", "folder/leaf", "folder/other"):
            put = api.post(f"{branch}/objects", params={"path": path}, content=b"0123456789")
            assert put.is_success
        commit = api.post(f"{branch}/commits", json={"message": "m"}).json()["id"]
        assert api.post(f"{root}/tags", json={"id": "v1.0", "ref": "main"}).is_success
        new = {"name": "locked", "source": "main"}
        assert api.post(f"{root}/branches", json=new).is_success
        rules = f"{root}/settings/branch_protection"
        assert api.put(rules, json=[{"pattern": "locked"}]).is_success
        put = api.post(f"{branch}/objects", params={"path": "staged"}, content=b"x")
        assert put.is_success
        wire = Wire(server, folder, api)
        wire.commit = commit
        yield wire
