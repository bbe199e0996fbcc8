"""Uploads in parts for object stores that have none which outlive a request.

A part is an object of its own, in a folder beside what the upload becomes; listings of blocks
leave these folders out:

    FOLDER/.anabranch-uploads/UPLOAD/open               the upload has not been aborted
    FOLDER/.anabranch-uploads/UPLOAD/00001.STAMP.MD5    a part
    FOLDER/.anabranch-uploads/UPLOAD/whole              the checksum of what it is completed to

`whole` is made by who comes first, so of lists that race exactly one wins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from anabranch.blocks.object_addresses import Location
from anabranch.blocks.objects import Objects
from anabranch.blocks.part_sources import read_source
from anabranch.blocks.spooled import spooled
from anabranch.blocks.upload_errors import part_not_found, upload_not_found, wrong_md5
from anabranch.blocks.upload_folder import in_upload, is_in_upload
from anabranch.blocks.upload_ids import is_upload_id, new_upload_id
from anabranch.errors import AlreadyExists
from anabranch.model.part import Part, checksum_of_parts

__all__ = ["ObjectUploads"]

_PART = re.compile(r"(\d{5})\.([0-9a-f]{16})\.([0-9a-f]{32})")
_NANOSECONDS = 1_000_000_000
_AT_ONCE_BYTES = 8 << 20
_READ_BYTES = 1 << 20


class ObjectUploads:
    """The uploads of a store of `objects`. `clock` gives seconds since 1970."""

    def __init__(self, objects: Objects, *, clock: Callable[[], float] = time.time) -> None:
        self._objects = objects
        self._clock = clock

    def hides(self, key: str) -> bool:
        """Returns whether a key is of an upload, and no block's."""
        return is_in_upload(key)

    def open(self, location: Location) -> str:
        """Returns the id of a new upload; its end tells which address it is for."""
        upload_id = new_upload_id(location)
        self._objects.put(in_upload(location, upload_id, "open"), b"", create=False)
        return upload_id

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part."""
        self._require(location, upload_id)
        with spooled(chunks) as held:
            if md5 not in {None, held.md5}:
                raise wrong_md5(location.address, number)
            before = self._held(location, upload_id).get(number, [])
            now = int(self._clock() * _NANOSECONDS)
            stamp = max([now, *(int(name.split(".")[1], 16) + 1 for name, _ in before)])
            place = in_upload(location, upload_id, f"{number:05d}.{stamp:016x}.{held.md5}")
            self._store(place, iter(lambda: held.file.read(_READ_BYTES), b""), held.size)
        try:
            self._require(location, upload_id)
        except Exception:
            self._objects.delete([place])  # it was aborted meanwhile
            raise
        for name, _ in before:
            self._objects.delete([in_upload(location, upload_id, name)])
        return Part(number, held.size, held.md5, stamp // _NANOSECONDS)

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores bytes of another block as a part."""
        self._require(location, upload_id)
        chunks = read_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the parts that are there, by number."""
        self._require(location, upload_id)
        held = self._held(location, upload_id)
        return [_part(*held[number][-1]) for number in sorted(held)]

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Makes a block of parts, and returns its size in bytes."""
        self._require(location, upload_id)
        held = self._held(location, upload_id)
        places, size = [], 0
        for number, checksum in parts:
            name, length = held.get(number, [("", 0)])[-1]
            if not name.endswith(f".{checksum}"):
                raise part_not_found(location.address, number)
            places.append(in_upload(location, upload_id, name))
            size += length
        self._win(in_upload(location, upload_id, "whole"), checksum_of_parts([p[1] for p in parts]))
        there = self._objects.head(location)
        if there is not None:
            return there.size  # who won has made it before
        if len(places) == 1:
            self._objects.copy(places[0], location)
        else:
            self._store(location, self._joined(places), size)
        return size

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; one that is not known is passed over."""
        if not is_upload_id(location, upload_id):
            return
        self._objects.delete([in_upload(location, upload_id, "open")])
        folder = in_upload(location, upload_id, "")
        names = [folder._replace(key=found.key) for found in self._objects.list(folder, "")]
        if names:
            self._objects.delete(names)

    def _store(self, location: Location, chunks: Iterator[bytes], size: int) -> None:
        if size <= _AT_ONCE_BYTES:
            self._objects.put(location, b"".join(chunks), create=False)
        else:
            self._objects.put_large(location, chunks)

    def _joined(self, places: Iterable[Location]) -> Iterator[bytes]:
        for place in places:
            yield from self._objects.open(place, 0, None)

    def _win(self, place: Location, checksum: str) -> None:
        """Raises NotFound where another list of parts has won."""
        try:
            self._objects.put(place, checksum.encode(), create=True)
        except AlreadyExists:
            if b"".join(self._objects.open(place, 0, None)) != checksum.encode():
                raise upload_not_found() from None

    def _held(self, location: Location, upload_id: str) -> dict[int, list[tuple[str, int]]]:
        """Returns the names and sizes of parts by number, the newest last."""
        folder = in_upload(location, upload_id, "")
        held: dict[int, list[tuple[str, int]]] = {}
        for found in self._objects.list(folder, ""):
            name = found.key[len(folder.key) :]
            if _PART.fullmatch(name):
                held.setdefault(int(name[:5]), []).append((name, found.size))
        return held

    def _require(self, location: Location, upload_id: str) -> None:
        """Raises NotFound unless an upload is there."""
        known = is_upload_id(location, upload_id)
        if not known or self._objects.head(in_upload(location, upload_id, "open")) is None:
            raise upload_not_found()


def _part(name: str, size: int) -> Part:
    number, stamp, md5 = name.split(".")
    return Part(int(number), size, md5, int(stamp, 16) // _NANOSECONDS)
