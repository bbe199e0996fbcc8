"""Client for objects in S3 that looks for other credentials when the store refuses its own.

Temporary credentials expire during long jobs. Those in a file or in the environment may have been
renewed there meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectClient, ObjectInfo
from anabranch.blocks.cloud.errors import refuses_credentials
from anabranch.blocks.s3.endpoint import S3Endpoint
from anabranch.blocks.s3.renewals import Renewals
from anabranch.errors import Gone, StoreRefused

__all__ = ["RenewedClient"]

_Result = TypeVar("_Result")


class RenewedClient:
    """An `ObjectClient` that repeats the requests of another one with renewed credentials. An
    upload of chunks is not repeated, because they can be read only once.
    """

    def __init__(self, client: ObjectClient, access: S3Endpoint) -> None:
        self._client = client
        self._access = access

    def put(
        self, location: Location, body: bytes, *, if_absent: bool, storage_class: str = ""
    ) -> None:
        """Stores a body. With `if_absent`, raises AlreadyExists if the key exists."""
        self._repeat(
            lambda: self._client.put(
                location, body, if_absent=if_absent, storage_class=storage_class
            )
        )

    def put_large(
        self, location: Location, chunks: Iterator[bytes], *, storage_class: str = ""
    ) -> None:
        """Stores the chunks. Stores nothing when `chunks` raises."""
        self._client.put_large(location, chunks, storage_class=storage_class)

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or to the end of the object. Raises Gone
        before the first piece.
        """
        return self._repeat(lambda: self._client.open(location, start, end))

    def head(self, location: Location) -> ObjectInfo | None:
        """Returns the object, or None if it does not exist."""

        def head() -> ObjectInfo | None:
            try:
                return self._client.head(location)
            except StoreRefused:
                # the response to HEAD has no body with the reason
                with suppress(Gone):
                    next(self._client.open(location, 0, 1), None)
                raise

        return self._repeat(head)

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes objects of one bucket; missing ones are ignored."""
        self._repeat(lambda: self._client.delete(locations))

    def copy(self, source: Location, destination: Location) -> int:
        """Copies an object within the store and returns its size in bytes. Raises Gone."""
        return self._repeat(lambda: self._client.copy(source, destination))

    def list(self, location: Location, after: str) -> Iterator[ObjectInfo]:
        """Yields the objects whose key starts with the location's, after the key `after`, in order
        of the keys' bytes. Continues after the last key with renewed credentials.
        """
        renewals, last = Renewals(self._access), after
        while True:
            try:
                for info in self._client.list(location, last):
                    yield info
                    last = info.key
            except StoreRefused as error:
                if not refuses_credentials(error) or not renewals.succeed():
                    raise
            else:
                return

    def _repeat(self, request: Callable[[], _Result]) -> _Result:
        renewals = Renewals(self._access)
        while True:
            try:
                return request()
            except StoreRefused as error:
                if not refuses_credentials(error) or not renewals.succeed():
                    raise
