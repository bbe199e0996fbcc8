"""What a kind of object store must do for there to be a block store on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from anabranch.blocks.object_addresses import Location
from anabranch.model.part import Part

__all__ = ["Listed", "Objects", "Uploads"]


class Listed(NamedTuple):
    """A key in a listing; `size` in bytes, `mtime` in seconds since 1970, `checksum` the store's
    ETag, without quotes.
    """

    key: str
    size: int
    mtime: int
    checksum: str = ""


class Objects(Protocol):
    """Whole blocks of a store, by location."""

    def put(self, location: Location, body: bytes, *, create: bool) -> None:
        """Stores a body."""

    def put_large(self, location: Location, chunks: Iterator[bytes]) -> None:
        """Stores what is too large for memory; nothing stays when `chunks` raises."""

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields bytes. Raises Gone at once."""

    def head(self, location: Location) -> Listed | None:
        """Returns what is there, or None."""

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes blocks of one bucket."""

    def copy(self, source: Location, destination: Location) -> int:
        """Copies a block and returns its size."""

    def list(self, location: Location, after: str) -> Iterator[Listed]:
        """Yields keys that begin as the location's does, in order."""


class Uploads(Protocol):
    """Uploads in parts of a store, by location."""

    def hides(self, key: str) -> bool:
        """Returns whether a key is of an upload, and no block's."""

    def open(self, location: Location) -> str:
        """Returns the id of a new upload."""

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores a part."""

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores bytes of a block as a part."""

    def parts(self, location: Location, upload_id: str) -> Sequence[Part]:
        """Returns the parts that are there."""

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Makes a block of parts; returns its size."""

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload."""
