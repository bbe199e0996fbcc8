"""A server as a source: commits and tables are read over HTTP.

Workers need the URL of the server and a key pair, but no access to its stores.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.client.retry_policy import RetryPolicy
from anabranch.errors import Busy, Corrupt, Gone, Invalid, NotFound
from anabranch.files.work_folders import WorkFolder
from anabranch.model.secret import Secret
from anabranch.spark.sources.refusals import note_refusals
from anabranch.spark.sources.repositories_client import RETRIES, RepositoriesClient

__all__ = ["Server", "ServerTables"]


class Server:
    """A server at `url`, such as `http://HOST:8000`, with the key pair of a user. `retries` decides
    how often requests are repeated.
    """

    def __init__(
        self,
        url: str,
        access_key_id: str,
        secret_access_key: str,
        *,
        retries: RetryPolicy = RETRIES,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise Invalid(f"{url}: not the URL of a server", hint="Use http://… or https://….")
        self.url = url.rstrip("/")
        self._keys = access_key_id, Secret(secret_access_key)
        self.client = RepositoriesClient(self.url, access_key_id, secret_access_key, retries)

    def __repr__(self) -> str:
        return f"Server({self.url!r})"

    @property
    def keys(self) -> tuple[str, str]:
        """The id and the secret of the access key, which are not to be shown."""
        access_key_id, secret = self._keys
        return access_key_id, secret.reveal()

    def storage_namespace(self, repository: str) -> str:
        """Returns the storage namespace of a repository. Raises NotFound."""
        return str(self.client.get(repository)["storage_namespace"])

    def tables(self, repository: str) -> ServerTables:
        """Returns a repository's tables."""
        return ServerTables(self, repository)

    def fetch(self, repository: str, table_id: str, path: Path) -> None:
        """Downloads a table to a file, again if the connection breaks. Raises Gone if the server
        does not have it, and Corrupt if the downloaded content is not that table.
        """
        retries = self.client.retries
        for attempt in range(1, retries.attempts + 1):
            try:
                self._download(repository, table_id, path)
                break
            except Busy:
                if attempt == retries.attempts:
                    raise
                time.sleep(retries.delay(attempt))
        try:
            received_id = kernel.verify_table(str(path))
        except kernel.CorruptTable as error:
            raise Corrupt(f"{self.url}: the table {table_id}: {error.reason}") from error
        if received_id != table_id:
            raise Corrupt(f"{self.url}: received {received_id} instead of the table {table_id}")

    def _download(self, repository: str, table_id: str, path: Path) -> None:
        location = (repository, "metadata", "object", "range", table_id)
        try:
            with (
                note_refusals(),
                self.client.download(*location) as content,
                path.open("wb") as file,
            ):
                file.writelines(content.chunks)
        except NotFound as error:
            raise Gone(
                f"{self.url}: the table {table_id} is missing", kind="metadata_missing"
            ) from error


class ServerTables:
    """The tables of a repository of a server. Each task downloads the tables that it reads."""

    def __init__(self, server: Server, repository: str) -> None:
        self._server = server
        self._repository = repository

    @contextmanager
    def locator(self) -> Iterator[Callable[[str], str]]:
        """Gives a function that downloads a table and returns its path, valid until the context
        ends.
        """
        with WorkFolder("spark") as folder:

            def locate(table_id: str) -> str:
                path = Path(folder, table_id)
                if not path.exists():
                    partial_path = path.with_name(f"{table_id}-{secrets.token_hex(8)}")
                    self._server.fetch(self._repository, table_id, partial_path)
                    partial_path.replace(path)
                return str(path)

            yield locate
