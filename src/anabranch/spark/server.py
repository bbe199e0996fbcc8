"""A server as a source: commits are looked up and tables fetched over HTTP.

Workers need the address of the server and a key pair, and nothing of its stores.
"""

from __future__ import annotations

import base64
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone, Invalid, NotFound
from anabranch.model.secret import Secret
from anabranch.spark.calls import Calls

__all__ = ["ServedTables", "Server"]


class Server:
    """A server at `url`, as `http://HOST:8000`, with the key pair of whoever asks."""

    def __init__(self, url: str, access_key_id: str, secret_access_key: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid(f"{url}: not the address of a server", hint="Begin it with http(s)://.")
        self.url = url.rstrip("/")
        pair = f"{access_key_id}:{secret_access_key}".encode()
        self.calls = Calls(self.url, Secret(f"Basic {base64.b64encode(pair).decode()}"))

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    def storage_namespace(self, repository: str) -> str:
        """Returns where a repository lies. Raises NotFound."""
        return str(self.calls.get(repository)["storage_namespace"])

    def tables(self, repository: str) -> ServedTables:
        """Returns a repository's tables."""
        return ServedTables(self, repository)

    def fetch(self, repository: str, table_id: str, path: Path) -> None:
        """Writes a table's file. Raises Gone when it is not there, and Corrupt when what came is
        another.
        """
        try:
            answer = self.calls.read(repository, "metadata", "object", "range", table_id)
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
