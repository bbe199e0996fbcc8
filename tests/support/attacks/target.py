"""The target of attacks on a sweep: the server that receives the requests, and the objects that the
sweep is about to remove.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from base64 import b64encode
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

__all__ = ["Place", "Refused", "Target", "Victim"]

_WAIT_SECONDS = 60


class Refused(Exception):
    """An error response."""

    def __init__(self, status: int, kind: str, hint: str, message: str) -> None:
        super().__init__(f"{status} {kind}: {message}")
        self.status = status
        self.kind = kind
        self.hint = hint


class Place(NamedTuple):
    """A location where an object can be read."""

    repository: str
    reference: str
    path: str


class Victim(NamedTuple):
    """Unreferenced objects: one at `address`, and one at `linked`, a generated address that was
    never linked. `commit` is an expired commit with the object `old`, `tree` is its tree, and
    `removal` is the commit that deleted the object. `body` is the content of all these objects.
    """

    number: int
    address: str
    linked: str
    checksum: str
    commit: str
    removal: str
    tree: str

    @property
    def body(self) -> bytes:
        """The content of the objects."""
        return b"victim %d" % self.number

    @property
    def old(self) -> str:
        """The path of the object in the expired commit."""
        return f"old-{self.number}"


class Target(NamedTuple):
    """The server under attack, and the keys of an administrator."""

    url: str
    access_key_id: str
    secret_access_key: str

    def call(self, method: str, path: str, body: Any = None, /, **query: str) -> Any:
        """Returns the JSON of a response, or None if it has no body. Raises Refused."""
        raw = self.raw(method, path, body, **query)
        return json.loads(raw) if raw else None

    def raw(self, method: str, path: str, body: Any = None, /, **query: str) -> bytes:
        """Returns the body of a response. Raises Refused."""
        pair = f"{self.access_key_id}:{self.secret_access_key}".encode()
        headers = {"Authorization": f"Basic {b64encode(pair).decode()}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}{'?' if query else ''}{urlencode(query)}",
            data=None if body is None else json.dumps(body).encode(),
            headers=headers,
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=_WAIT_SECONDS) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            response_headers = error.headers
            raise Refused(
                error.code,
                response_headers.get("X-Anabranch-Kind", ""),
                response_headers.get("X-Anabranch-Hint", ""),
                error.read().decode(errors="replace"),
            ) from None

    def read(self, place: Place) -> bytes | None:
        """Returns an object's content, or None if it cannot be read."""
        reference = quote(place.reference, safe="")
        url_path = f"/repositories/{place.repository}/refs/{reference}/objects"
        try:
            return self.raw("GET", url_path, path=place.path)
        except Refused as error:
            if error.status in {404, 410}:
                return None
            raise
