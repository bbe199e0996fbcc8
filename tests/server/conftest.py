"""A server whose data folder and process the tests can inspect."""

from __future__ import annotations

import os
import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest
from support.stored_files import open_stored_files, stored_files

from anabranch.testing.server import Server, running_server

PRESIGNED = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}


class SharedServer(NamedTuple):
    """A server, its folder, and a client of its API."""

    server: Server
    folder: Path
    api: httpx2.Client

    def connect(self) -> socket.socket:
        """Returns a TCP connection to the server."""
        url = urlsplit(self.server.url)
        return socket.create_connection((url.hostname, url.port), timeout=60)

    def request(self, method: str, path: str, *headers: str) -> bytes:
        """Returns the head of a request with the administrator's credentials."""
        token = b64encode(":".join(self.server.auth).encode()).decode()
        lines = [
            f"{method} /api/v1/repositories/sea/{path} HTTP/1.1",
            "Host: sea",
            f"Authorization: Basic {token}",
            *headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def files(self) -> set[Path]:
        """Returns every file of the block store."""
        return stored_files(self.folder / "block")

    def open_files(self) -> list[str]:
        """Returns the names of the block store's files that the server has open."""
        return open_stored_files(self.server.pid, self.folder / "block")

    def memory(self) -> int:
        """Returns the resident memory of the server, in bytes."""
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024

    def processor_seconds(self) -> float:
        """Returns the processor time that the server has used so far, in seconds."""
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def bytes_read(self) -> int:
        """Returns how many bytes the server has read from files and sockets so far."""
        io = Path(f"/proc/{self.server.pid}/io").read_text()
        return int(io.split()[1])


@pytest.fixture(scope="package")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    folder = tmp_path_factory.mktemp("shared_server")
    with running_server(folder, env=PRESIGNED) as server:
        auth = server.auth
        with httpx2.Client(base_url=server.api, auth=auth, timeout=30) as api:
            body = {"name": "sea", "storage_namespace": "local://sea"}
            assert api.post("/repositories", json=body).status_code == 201
            yield SharedServer(server, folder, api)
