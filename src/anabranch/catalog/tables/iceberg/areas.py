"""Areas: the folders of the files of tables, which belong to no branch.

    <storage namespace>/tables/<area>.json     the path of the record that the area was made for
    <storage namespace>/tables/<area>/…        metadata, manifests and data
    <storage namespace>/tables/uploads/…       multipart uploads that are not complete

Iceberg names files by absolute addresses, so these must be the same on every branch, tag and
commit. An area is written once: a key that exists is never stored again with other bytes, and
nothing is removed by clients, since other references may need it. Rights to an area are those to
the object at the path for which it was made.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockInfo, BlockStore, Stored
from anabranch.blocks.multipart.errors import upload_not_found
from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Conflict,
    Gone,
    Invalid,
    NotFound,
)
from anabranch.model.names import check_path
from anabranch.model.objects.md5 import md5_of
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import (
    AREA_ID,
    AREAS,
    AREAS_FOLDER,
    AreaRecord,
    Origin,
    area_location,
    area_record_from,
    areas_folder,
)
from anabranch.model.uploads.part import Part, multipart_checksum
from anabranch.model.uploads.upload import Upload
from anabranch.versioning.core import Core
from anabranch.versioning.repositories.repositories import check_writable

__all__ = ["Area", "AreaFile", "TableAreas"]

_TOKEN = re.compile(r"([0-9a-f]{32})\.(.+)")
_CACHED = 10_000
_MAX_FILE_BYTES = 700
"""The longest path in an area: with the storage namespace it must be a key of an object store."""


class Area(NamedTuple):
    """An area of a repository, the path of the record that it was made for, and whether that was of
    a table that was `registered`, so that its files may be elsewhere too: from its origin.
    """

    repository: Repository
    id: str
    path: str
    registered: bool = False
    origin: Origin | None = None

    @property
    def location(self) -> str:
        """The S3 address of the area."""
        return area_location(self.repository.id, self.id)


class AreaFile(NamedTuple):
    """A file in a listing: its path in the area, its size in bytes, its time in seconds since
    1970.
    """

    path: str
    size: int
    mtime: int


class TableAreas:
    """The areas of all repositories."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._records: OrderedDict[tuple[str, str], AreaRecord] = OrderedDict()

    def create(self, repository: Repository, path: str, origin: Origin | None = None) -> Area:
        """Returns a new area for the table whose record has a path, with the object from which it
        is registered, if it is.
        """
        registered = origin is not None
        record = AreaRecord(path, registered, origin)
        area = Area(repository, self._core.identifiers.random_hex(), path, registered, origin)
        address = f"{areas_folder(repository)}/{area.id}.json"
        self._blocks.put(address, [msgspec.json.encode(record)], if_absent=True)
        return area

    def find(self, repository: Repository, area_id: str) -> Area:
        """Returns an area. Raises NotFound."""
        key = repository.partition, area_id
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = self._read_record(repository, area_id)
            while len(self._records) > _CACHED:
                with suppress(KeyError):  # another thread was faster
                    self._records.popitem(last=False)
        return Area(repository, area_id, record.path, record.registered, record.origin)

    def find_by_address(self, repository: str, area_id: str) -> Area:
        """Returns an area of a repository by its id. Raises NotFound."""
        return self.find(self._core.repositories.get(repository), area_id)

    def put(self, area: Area, path: str, chunks: Iterable[bytes]) -> Stored:
        """Stores a file. One that has the same bytes already is left as it is. Raises Conflict
        (kind file_exists) for other bytes, Invalid for the path, and what `chunks` raises.
        """
        check_writable(area.repository, force=False)
        address = self._address(area, path)
        body = _Digested(chunks)
        try:
            return self._blocks.put(address, body, if_absent=True)
        except AlreadyExists:
            size, checksum = body.finish()
            stored = self._blocks.stat(address)
            if (
                stored is not None
                and stored.size == size
                and md5_of(self._blocks.get(address)) == checksum
            ):
                return Stored(size, checksum, stored.mtime)
            raise _file_exists(area, path) from None

    def put_new(self, area: Area, path: str, content: bytes) -> None:
        """Stores a file whose name no other caller knows yet. Raises as `put` does."""
        check_writable(area.repository, force=False)
        self._blocks.put(self._address(area, path), [content], unique_address=True)

    def stat(self, area: Area, path: str) -> BlockInfo:
        """Returns the size and the time of a file. Raises NotFound."""
        stored = self._blocks.stat(self._address(area, path))
        if stored is None:
            raise _file_not_found(area, path)
        return stored

    def get(self, area: Area, path: str, start: int, length: int) -> Iterator[bytes]:
        """Yields bytes of a file."""
        return self._blocks.get(self._address(area, path), start, length)

    def read(self, area: Area, path: str, limit: int) -> bytes:
        """Returns a file of at most `limit` bytes. Raises NotFound, and Invalid (kind
        file_too_large).
        """
        size = self.stat(area, path).size
        if size > limit:
            raise Invalid(
                f"{area.location}/{path} has {size:,} bytes, at most {limit:,}",
                kind="file_too_large",
            )
        return self._blocks.read(self._address(area, path))

    def remove_unused(self, area: Area, paths: Iterable[str]) -> None:
        """Removes files that this process has just stored and that nothing has ever named."""
        self._blocks.delete([self._address(area, path) for path in paths])

    def list(self, area: Area, prefix: str, after: str) -> Iterator[AreaFile]:
        """Yields the files whose paths begin with a prefix, after a path, in order."""
        begin = self._blocks.unqualify(f"{areas_folder(area.repository)}/{area.id}") + "/"
        for info in self._blocks.list(begin + prefix, begin + after if after else ""):
            yield AreaFile(self._blocks.unqualify(info.address)[len(begin) :], *info[1:])

    def open_upload(self, area: Area, path: str) -> str:
        """Begins a multipart upload of a file and returns its id. Raises as `put` does."""
        check_writable(area.repository, force=False)
        if self._blocks.stat(self._address(area, path)) is not None:
            raise _file_exists(area, path)
        token = self._core.identifiers.random_hex()
        address = _upload_address(area, path, token)
        upload_id = self._blocks.open_upload(address)
        # for garbage collection, if the client never completes it
        self._core.uploads.begin_in_area(
            Upload(
                id=upload_id,
                partition=area.repository.partition,
                branch=AREAS,
                path=f"{area.id}/{path}",
                address=f"{AREAS_FOLDER}uploads/{address.rpartition('/')[2]}",
                block=address,
                creation_date=int(self._core.clock()),
            )
        )
        return f"{token}.{upload_id}"

    def put_part(
        self, area: Area, path: str, upload: str, number: int, chunks: Iterable[bytes]
    ) -> Part:
        """Stores a part. Raises NotFound for an upload of another file."""
        address, upload_id = self._parse_upload(area, path, upload)
        return self._blocks.put_part(address, upload_id, number, chunks)

    def parts(self, area: Area, path: str, upload: str) -> Sequence[Part]:
        """Returns the stored parts of an upload, by number. Raises NotFound."""
        return self._blocks.parts(*self._parse_upload(area, path, upload))

    def complete_upload(
        self, area: Area, path: str, upload: str, parts: Sequence[tuple[int, str]]
    ) -> str:
        """Makes a file of parts, given by number and MD5, and returns its ETag. The parts are
        joined beside the area and stored in it as one file, so that it is written once like all
        others; a repeated request finds it. Raises as `put` does.
        """
        check_writable(area.repository, force=False)
        address, upload_id = self._parse_upload(area, path, upload)
        etag = multipart_checksum([md5 for _, md5 in parts])
        try:
            joined = self._blocks.complete_upload(address, upload_id, parts)
            self.put(area, path, self._blocks.get(address, 0, joined.size) if joined.size else ())
        except NotFound:
            if self._blocks.stat(self._address(area, path)) is None:
                raise
            return etag
        with suppress(AnabranchError):  # garbage collection removes what stays
            self._blocks.delete([address])
            self._blocks.abort_upload(address, upload_id)
            self._core.uploads.forget_in_area(upload_id, address)
        return etag

    def abort_upload(self, area: Area, path: str, upload: str) -> None:
        """Removes an upload and its parts."""
        address, upload_id = self._parse_upload(area, path, upload)
        self._blocks.abort_upload(address, upload_id)
        self._core.uploads.forget_in_area(upload_id, address)

    def _read_record(self, repository: Repository, area_id: str) -> AreaRecord:
        if not AREA_ID.fullmatch(area_id):
            raise _area_not_found(area_id)
        try:
            content = self._blocks.read(f"{areas_folder(repository)}/{area_id}.json")
        except Gone:
            raise _area_not_found(area_id) from None
        return area_record_from(content, area_id)

    def _address(self, area: Area, path: str) -> str:
        check_path(path)
        names = path.split("/")
        if any(name in {"", ".", ".."} for name in names) or len(path.encode()) > _MAX_FILE_BYTES:
            raise Invalid(
                f"{path!r} is no path of a table's file",
                kind="invalid_path",
                hint=f"Use at most {_MAX_FILE_BYTES} bytes, and no empty name, `.` or `..`.",
            )
        return f"{areas_folder(area.repository)}/{area.id}/{path}"

    def _parse_upload(self, area: Area, path: str, upload: str) -> tuple[str, str]:
        match = _TOKEN.fullmatch(upload)
        if match is None:
            raise upload_not_found()
        return _upload_address(area, path, match[1]), match[2]


class _Digested:
    """Chunks, their MD5 and their number of bytes."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._digest = hashlib.md5(usedforsecurity=False)
        self._size = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._digest.update(chunk)
            self._size += len(chunk)
            yield chunk

    def finish(self) -> tuple[int, str]:
        """Reads the rest; returns the size and the MD5 of all."""
        for _ in self:
            pass
        return self._size, self._digest.hexdigest()


def _upload_address(area: Area, path: str, token: str) -> str:
    """Returns where an upload is joined: of this file of this area alone."""
    named = hashlib.sha256(f"{area.id}/{path}".encode()).hexdigest()[:32]
    return f"{areas_folder(area.repository)}/uploads/{named}-{token}"


def _area_not_found(area_id: str) -> NotFound:
    return NotFound(f"there is no area {AREAS}/{area_id}", kind="object_not_found")


def _file_not_found(area: Area, path: str) -> NotFound:
    return NotFound(f"there is no {area.location}/{path}", kind="object_not_found")


def _file_exists(area: Area, path: str) -> Conflict:
    return Conflict(
        f"{area.location}/{path} exists with other bytes",
        kind="file_exists",
        hint="Files of tables are written once: use a name of its own for each.",
    )
