"""Protocols of the clients that a block store on an object store is built from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from anabranch.blocks.cloud.addresses import Location
from anabranch.model.uploads.part import Part

__all__ = ["MultipartClient", "ObjectClient", "ObjectInfo"]


class ObjectInfo(NamedTuple):
    """Object in a store: `size` in bytes, `mtime` in seconds since 1970, `checksum` is the ETag
    without quotes.
    """

    key: str
    size: int
    mtime: int
    checksum: str = ""


class ObjectClient(Protocol):
    """Client for whole objects. Safe for use from many threads."""

    def put(
        self, location: Location, body: bytes, *, if_absent: bool, storage_class: str = ""
    ) -> None:
        """Stores a body. With `if_absent`, raises AlreadyExists if the key exists. Only S3's own
        client supports a storage class.
        """

    def put_large(
        self, location: Location, chunks: Iterator[bytes], *, storage_class: str = ""
    ) -> None:
        """Stores a body that is too large for memory. Stores nothing when `chunks` raises."""

    def open(self, location: Location, start: int, end: int | None) -> Iterator[bytes]:
        """Yields the bytes from `start` to before `end`, or to the end of the object. Raises Gone
        before the first piece.
        """

    def head(self, location: Location) -> ObjectInfo | None:
        """Returns the object, or None if it does not exist."""

    def delete(self, locations: Sequence[Location]) -> None:
        """Removes objects of one bucket; missing ones are ignored."""

    def copy(self, source: Location, destination: Location) -> int:
        """Copies an object within the store and returns its size in bytes. Raises Gone."""

    def list(self, location: Location, after: str) -> Iterator[ObjectInfo]:
        """Yields the objects whose key starts with the location's, after the key `after`, in order
        of the keys' bytes.
        """


class MultipartClient(Protocol):
    """Client for multipart uploads. Safe for use from many threads.

    Methods raise NotFound (kind upload_not_found) for an upload that does not exist.
    """

    def hides(self, key: str) -> bool:
        """Returns whether a key belongs to an upload, so that listings must leave it out."""

    def open(self, location: Location) -> str:
        """Opens an upload and returns its id."""

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores a part. Raises Invalid if its MD5 is not the hex `md5`."""

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of another object as a part. Raises Gone."""

    def parts(self, location: Location, upload_id: str) -> Sequence[Part]:
        """Returns the stored parts, by number."""

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Joins parts, given by number and checksum, and returns the object's size in bytes."""

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
