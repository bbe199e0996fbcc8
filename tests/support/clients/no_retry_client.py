"""A bare client for tests that count answers: one connection, kept alive, nothing repeated.

Clients with manners ask again when a connection breaks; who wants to know what a server has
acknowledged must not.
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from anabranch.errors import OutcomeUnknown
from anabranch.testing.server import Server

__all__ = ["Caller", "Reply"]


class Reply(NamedTuple):
    """A status, a body, and the kind of the error if the server names one."""

    status: int
    body: bytes
    kind: str

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """What an error says."""
        return str(self.json["message"])

    @property
    def outcome_unknown(self) -> bool:
        """Whether the server does not know if the write was made."""
        return self.kind == OutcomeUnknown.kind


class Caller:
    """Calls the API of a server, in the name of its administrator.

    Raises OSError or http.client.HTTPException when the connection breaks before the answer is
    whole; the next call then makes a new one.
    """

    def __init__(self, server: Server, *, timeout: float = 60) -> None:
        address = urlsplit(server.api)
        self._base = address.path
        self._connection = http.client.HTTPConnection(address.netloc, timeout=timeout)
        pair = base64.b64encode(":".join(server.auth).encode()).decode()
        self._headers = {"Authorization": f"Basic {pair}"}

    def __call__(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        **headers: str,
    ) -> Reply:
        """Returns the answer to a request; a mapping is sent as JSON, headers have `_` for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        try:
            self._connection.request(method, self._base + path, body, self._headers | sent)
            answer = self._connection.getresponse()
            kind = answer.getheader("X-Anabranch-Kind", "")
            return Reply(answer.status, answer.read(), kind)
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def make_repository(self, name: str) -> None:
        """Creates a repository with a namespace of its own."""
        body = {"name": name, "storage_namespace": f"local://{name}"}
        reply = self("POST", "/repositories", body)
        assert reply.status == http.client.CREATED, reply

    def put(self, repository: str, branch: str, path: str, content: bytes, **headers: str) -> Reply:
        """Uploads an object."""
        where = f"/repositories/{repository}/branches/{quote(branch)}/objects"
        return self("POST", f"{where}?path={quote(path, safe='')}", content, **headers)

    def get(self, repository: str, reference: str, path: str) -> Reply:
        """Reads an object."""
        where = f"/repositories/{repository}/refs/{quote(reference)}/objects"
        return self("GET", f"{where}?path={quote(path, safe='')}")

    def commit(self, repository: str, branch: str, message: str) -> Reply:
        """Commits a branch."""
        where = f"/repositories/{repository}/branches/{quote(branch)}/commits"
        return self("POST", where, {"message": message})
