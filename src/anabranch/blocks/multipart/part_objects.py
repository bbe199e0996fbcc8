"""Multipart uploads to object stores whose own API for them is not available.

Each part is an object in a folder next to the future block; listings of blocks leave it out:

    FOLDER/.anabranch-uploads/UPLOAD/open               the upload has not been aborted
    FOLDER/.anabranch-uploads/UPLOAD/00001.STAMP.MD5    a part
    FOLDER/.anabranch-uploads/UPLOAD/whole              the checksum that it is completed to

`whole` is created by the first completion, so exactly one of several concurrent ones wins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.client import ObjectClient
from anabranch.blocks.multipart.copy_source import read_copy_source
from anabranch.blocks.multipart.errors import part_not_found, upload_not_found, wrong_md5
from anabranch.blocks.multipart.spooled_body import spool_to_file
from anabranch.blocks.multipart.upload_folder import is_upload_key, upload_location
from anabranch.blocks.multipart.upload_ids import is_upload_id, new_upload_id
from anabranch.errors import AlreadyExists
from anabranch.model.uploads.part import Part, multipart_checksum

__all__ = ["PartObjectUploads"]

_PART = re.compile(r"(\d{5})\.([0-9a-f]{16})\.([0-9a-f]{32})")
_NANOSECONDS = 1_000_000_000
_MAX_SINGLE_PUT_BYTES = 8 << 20
_READ_BYTES = 1 << 20


class PartObjectUploads:
    """A `MultipartClient` that stores parts by `objects`. `clock` gives seconds since 1970."""

    def __init__(self, objects: ObjectClient, *, clock: Callable[[], float] = time.time) -> None:
        self._objects = objects
        self._clock = clock

    def hides(self, key: str) -> bool:
        """Returns whether a key belongs to an upload, so that listings must leave it out."""
        return is_upload_key(key)

    def open(self, location: Location) -> str:
        """Opens an upload and returns its id."""
        upload_id = new_upload_id(location)
        self._objects.put(upload_location(location, upload_id, "open"), b"", if_absent=False)
        return upload_id

    def put(
        self,
        location: Location,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        md5: str | None,
    ) -> Part:
        """Stores the chunks as a part. Raises NotFound, and Invalid if the hex `md5` differs."""
        self._require(location, upload_id)
        with spool_to_file(chunks) as body:
            if md5 not in {None, body.md5}:
                raise wrong_md5(location.address, number)
            replaced = self._part_objects(location, upload_id).get(number, [])
            now = int(self._clock() * _NANOSECONDS)
            stamp = max([now, *(int(name.split(".")[1], 16) + 1 for name, _ in replaced)])
            target = upload_location(location, upload_id, f"{number:05d}.{stamp:016x}.{body.md5}")
            self._store(target, iter(lambda: body.file.read(_READ_BYTES), b""), body.size)
        try:
            self._require(location, upload_id)
        except Exception:
            self._objects.delete([target])  # the upload was aborted meanwhile
            raise
        for name, _ in replaced:
            self._objects.delete([upload_location(location, upload_id, name)])
        return Part(number, body.size, body.md5, stamp // _NANOSECONDS)

    def copy(
        self,
        location: Location,
        upload_id: str,
        number: int,
        source: Location,
        start: int,
        length: int | None,
    ) -> Part:
        """Stores a range of another block as a part. Raises Gone and NotFound."""
        self._require(location, upload_id)
        chunks = read_copy_source(self._objects, source, start, length)
        return self.put(location, upload_id, number, chunks, None)

    def parts(self, location: Location, upload_id: str) -> list[Part]:
        """Returns the stored parts, by number. Raises NotFound."""
        self._require(location, upload_id)
        stored = self._part_objects(location, upload_id)
        return [_to_part(*stored[number][-1]) for number in sorted(stored)]

    def complete(self, location: Location, upload_id: str, parts: Sequence[tuple[int, str]]) -> int:
        """Joins parts to a block and returns its size in bytes. Raises NotFound and Invalid."""
        self._require(location, upload_id)
        stored = self._part_objects(location, upload_id)
        sources, size = [], 0
        for number, checksum in parts:
            name, length = stored.get(number, [("", 0)])[-1]
            if not name.endswith(f".{checksum}"):
                raise part_not_found(location.address, number)
            sources.append(upload_location(location, upload_id, name))
            size += length
        whole = upload_location(location, upload_id, "whole")
        self._claim(whole, multipart_checksum([part[1] for part in parts]))
        block = self._objects.head(location)
        if block is not None:
            return block.size  # completed before, with the same parts
        if len(sources) == 1:
            self._objects.copy(sources[0], location)
        else:
            self._store(location, self._join(sources), size)
        return size

    def abort(self, location: Location, upload_id: str) -> None:
        """Removes an upload; an unknown one is ignored."""
        if not is_upload_id(location, upload_id):
            return
        self._objects.delete([upload_location(location, upload_id, "open")])
        folder = upload_location(location, upload_id, "")
        remaining = [folder._replace(key=info.key) for info in self._objects.list(folder, "")]
        if remaining:
            self._objects.delete(remaining)

    def _store(self, location: Location, chunks: Iterator[bytes], size: int) -> None:
        if size <= _MAX_SINGLE_PUT_BYTES:
            self._objects.put(location, b"".join(chunks), if_absent=False)
        else:
            self._objects.put_large(location, chunks)

    def _join(self, sources: Iterable[Location]) -> Iterator[bytes]:
        for source in sources:
            yield from self._objects.open(source, 0, None)

    def _claim(self, whole: Location, checksum: str) -> None:
        """Raises NotFound if the upload is completed with other parts."""
        try:
            self._objects.put(whole, checksum.encode(), if_absent=True)
        except AlreadyExists:
            if b"".join(self._objects.open(whole, 0, None)) != checksum.encode():
                raise upload_not_found() from None

    def _part_objects(self, location: Location, upload_id: str) -> dict[int, list[tuple[str, int]]]:
        """Returns the names and sizes of the objects of parts, by number, the newest last."""
        folder = upload_location(location, upload_id, "")
        stored: dict[int, list[tuple[str, int]]] = {}
        for info in self._objects.list(folder, ""):
            name = info.key[len(folder.key) :]
            if _PART.fullmatch(name):
                stored.setdefault(int(name[:5]), []).append((name, info.size))
        return stored

    def _require(self, location: Location, upload_id: str) -> None:
        """Raises NotFound unless the upload exists."""
        if not is_upload_id(location, upload_id):
            raise upload_not_found()
        if self._objects.head(upload_location(location, upload_id, "open")) is None:
            raise upload_not_found()


def _to_part(name: str, size: int) -> Part:
    number, stamp, md5 = name.split(".")
    return Part(int(number), size, md5, int(stamp, 16) // _NANOSECONDS)
