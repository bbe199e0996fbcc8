"""What attacks on a sweep have in common: the server that they send requests to, and the objects
that a sweep is about to remove.
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
    """A response that is an error."""

    def __init__(self, status: int, kind: str, hint: str, message: str) -> None:
        super().__init__(f"{status} {kind}: {message}")
        self.status = status
        self.kind = kind
        self.hint = hint


class Place(NamedTuple):
    """Where a reference makes an object readable."""

    repository: str
    reference: str
    path: str


class Victim(NamedTuple):
    """Objects that nothing refers to: one at `address`, and one at `linked`, an address that was
    handed out and never linked; and an expired commit, of which `old` is an object, with its tree
    and the commit that removed the object again. `body` is what the objects hold.
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
    """The server that is attacked, and an administrator's keys."""

    url: str
    access_key_id: str
    secret_access_key: str

    def call(self, method: str, path: str, body: Any = None, /, **query: str) -> Any:
        """Returns the JSON of a response, None where it has no body. Raises Refused."""
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
            with urllib.request.urlopen(request, timeout=_WAIT_SECONDS) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            told = error.headers
            raise Refused(
                error.code,
                told.get("X-Anabranch-Kind", ""),
                told.get("X-Anabranch-Hint", ""),
                error.read().decode(errors="replace"),
            ) from None

    def read(self, place: Place) -> bytes | None:
        """Returns what an object holds, None where it cannot be read."""
        where = f"/repositories/{place.repository}/refs/{quote(place.reference, safe='')}/objects"
        try:
            return self.raw("GET", where, path=place.path)
        except Refused as error:
            if error.status in {404, 410}:
                return None
            raise
