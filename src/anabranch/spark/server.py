"""A server as a source: commits are looked up and tables fetched over HTTP.

Workers need the address of the server and a key pair, and nothing of its stores.
"""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote

from anabranch import _kernel as kernel
from anabranch.errors import (
    AnabranchError,
    Busy,
    Corrupt,
    Denied,
    Gone,
    Invalid,
    NotFound,
    Unauthenticated,
)
from anabranch.model.secret import Secret

__all__ = ["ServedTables", "Server"]

_ERRORS: dict[int, type[AnabranchError]] = {
    400: Invalid,
    401: Unauthenticated,
    403: Denied,
    404: NotFound,
}
_SECONDS = 60


class Server:
    """A server at `url`, as `http://HOST:8000`, with the key pair of whoever asks."""

    def __init__(self, url: str, access_key_id: str, secret_access_key: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid(f"{url}: not the address of a server", hint="Begin it with http(s)://.")
        self.url = url.rstrip("/")
        pair = f"{access_key_id}:{secret_access_key}".encode()
        self._authorization = Secret(f"Basic {base64.b64encode(pair).decode()}")

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def storage_namespace(self, repository: str) -> str:
        """Returns where a repository lies. Raises NotFound."""
        return str(self._json(repository)["storage_namespace"])

    def metarange_id(self, repository: str, reference: str) -> str:
        """Returns the tree of the commit that a reference means. Raises NotFound."""
        return str(self._json(repository, "commits", reference)["meta_range_id"])

    def tables(self, repository: str) -> ServedTables:
        """Returns a repository's tables."""
        return ServedTables(self, repository)

    def fetch(self, repository: str, table_id: str, path: Path) -> None:
        """Writes a table's file. Raises Gone when it is not there, and Corrupt when what came is
        another.
        """
        try:
            answer = self._get(repository, "metadata", "object", "range", table_id)
        except NotFound as error:
            raise Gone(
                f"{self.url}: the table {table_id} is missing", kind="metadata_missing"
            ) from error
        with answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
        try:
            found = kernel.verify_table(str(path))
        except kernel.CorruptTable as error:
            raise Corrupt(f"{self.url}: the table {table_id}: {error.reason}") from error
        if found != table_id:
            raise Corrupt(f"{self.url}: what came for the table {table_id} is {found}")

    def _json(self, *segments: str) -> Any:
        with self._get(*segments) as answer:
            return json.load(answer)

    def _get(self, *segments: str) -> HTTPResponse:
        path = "/".join(quote(segment, safe="") for segment in segments)
        request = urllib.request.Request(  # noqa: S310  the scheme was looked at
            f"{self.url}/api/v1/repositories/{path}",
            headers={"Authorization": self._authorization.reveal()},
        )
        try:
            answer: HTTPResponse = urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310
        except urllib.error.HTTPError as error:
            kind = _ERRORS.get(error.code, Busy)
            raise kind(f"{self.url}: {_message(error)}") from error
        except urllib.error.URLError as error:
            raise Busy(f"{self.url}: {error.reason}") from error
        return answer


class ServedTables:
    """The tables of a repository of a server: each task fetches those that it reads."""

    def __init__(self, server: Server, repository: str) -> None:
        self._server = server
        self._repository = repository

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function; files stay as long as it is entered."""
        with tempfile.TemporaryDirectory(prefix="anabranch-spark-") as folder:

            def locate(table_id: str) -> str:
                path = Path(folder, table_id)
                if not path.exists():
                    coming = path.with_name(f"{table_id}-{secrets.token_hex(8)}")
                    self._server.fetch(self._repository, table_id, coming)
                    coming.replace(path)
                return str(path)

            yield locate


def _message(error: urllib.error.HTTPError) -> str:
    """Returns what the server says, or what the status means."""
    try:
        return str(json.load(error)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
