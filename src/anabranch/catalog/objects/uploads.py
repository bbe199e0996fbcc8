"""Use cases of multipart uploads: create, store and copy parts, list, abort; they are completed by
`multipart_completion`.

Parts are stored in the block store under the upload's own new address and are not visible on the
branch until the upload is completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.multipart.errors import upload_not_found
from anabranch.catalog.objects.etag_pinned_reads import pinned_etag, verify_etag
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.catalog.objects.write_checks import WriteChecks
from anabranch.errors import AnabranchError, Invalid, OutcomeUnknown
from anabranch.model.names import encode_path
from anabranch.model.objects.entry import (
    DEFAULT_CONTENT_TYPE,
    Entry,
    physical_address,
    user_metadata,
)
from anabranch.model.objects.stat import CommonPrefix
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import AREAS
from anabranch.model.uploads.part import MAX_PARTS, Part
from anabranch.model.uploads.upload import Upload
from anabranch.versioning.core import Core
from anabranch.versioning.objects.uploads import StoredUpload, end_of_key, upload_key_prefix

__all__ = ["StoredPart", "UploadPage", "Uploads", "find_upload"]

_ENDED_UPLOAD_SECONDS = 3600
"""How long the outcome of an upload is stored, and when its leftovers are deleted, in seconds."""

Checksum = tuple[str, str]
"""The name of an algorithm, and a checksum in the form of S3."""

DigestRange = Callable[[str, OpenObject, int, int], str]
"""Returns the checksum of bytes, given an algorithm, the object, the first byte and the length."""


class StoredPart(NamedTuple):
    """A part and the checksum that it was uploaded with, if any."""

    part: Part
    checksum: Checksum | None


class UploadPage(NamedTuple):
    """A page of uploads and common prefixes of their keys, in order. `last` is the key and the id
    of the last item, from which the next page continues; None if there are no more.
    """

    items: Sequence[Upload | CommonPrefix]
    last: tuple[str, str] | None


class Uploads:
    """Use cases of multipart uploads. `clock` returns seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float], writes: WriteChecks
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._writes = writes

    def create(
        self,
        repository: str,
        branch: str,
        path: str,
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        checksum_algorithm: str = "",
        checksum_type: str = "",
        force: bool = False,
        check_on_completion: bool = False,
    ) -> Upload:
        """Creates a multipart upload of an object to a branch. Raises as writing the object would;
        with `check_on_completion`, a read-only repository and a protected branch raise only when
        the upload is completed.
        """
        if check_on_completion:
            stored_repository = self._writes.require_branch(repository, branch, path)
        else:
            stored_repository = self._writes.require_writable(repository, branch, path, force=force)
        address = self._core.identifiers.data_address()
        block = f"{stored_repository.storage_namespace.rstrip('/')}/{address}"
        upload = Upload(
            id=self._blocks.open_upload(block),
            partition=stored_repository.partition,
            branch=branch,
            path=path,
            address=address,
            block=block,
            creation_date=int(self._clock()),
            metadata=user_metadata(metadata),
            content_type=content_type or DEFAULT_CONTENT_TYPE,
            checksum_algorithm=checksum_algorithm,
            checksum_type=checksum_type,
        )
        try:
            self._core.uploads.begin(stored_repository, upload)
        except OutcomeUnknown:
            raise  # the upload may have been created
        except AnabranchError:
            self._blocks.abort_upload(block, upload.id)
            raise
        return upload

    def get(self, repository: str, branch: str, path: str, upload_id: str) -> Upload:
        """Returns an unfinished upload. Raises NotFound."""
        stored_repository = self._core.repositories.get(repository)
        return find_upload(self._core, stored_repository, branch, path, upload_id).upload

    def put_part(
        self,
        repository: str,
        branch: str,
        path: str,
        upload_id: str,
        number: int,
        chunks: Iterable[bytes],
        *,
        md5: str | None = None,
        checksum: Callable[[], Checksum | None] = lambda: None,
    ) -> Part:
        """Stores the chunks as a part of an upload; replaces a part of that number. `checksum` is
        called after the last chunk and returns the checksum that the client sent.

        Raises NotFound for a missing upload, Invalid for a bad number and for bytes with another
        hex `md5`, and what `chunks` raises; nothing has changed then.
        """
        upload = self.get(repository, branch, path, upload_id)
        _check_number(number)
        part = self._blocks.put_part(upload.block, upload.id, number, chunks, md5=md5)
        received = checksum()
        if received is not None:
            self._core.uploads.keep_checksum(upload, number, part.checksum, received)
        return part

    def copy_part(
        self,
        repository: str,
        branch: str,
        path: str,
        upload_id: str,
        number: int,
        *,
        source_repository: str,
        source_ref: str,
        source_path: str,
        select: Callable[[Entry], tuple[int, int]],
        digest: DigestRange | None = None,
    ) -> StoredPart:
        """Stores a part that is copied from another object: `select` returns its first byte and its
        length in bytes. If the upload has a checksum algorithm, `digest` computes the part's
        checksum.

        Raises as `put_part` does, and what `select` and `digest` raise.
        """
        upload = self.get(repository, branch, path, upload_id)
        _check_number(number)
        source = self._core.repositories.get(source_repository)
        entry = self._core.objects.get(source, source_ref, source_path)
        start, length = select(entry)
        checksum: Checksum | None = None
        algorithm = upload.checksum_algorithm
        if algorithm and digest is not None:
            source_object = OpenObject(source, entry, self._blocks)
            checksum = algorithm, digest(algorithm, source_object, start, length)
        address = physical_address(source.storage_namespace, entry.address, entry.address_type)
        with verify_etag(self._blocks, address, pinned_etag(entry)):
            part = self._blocks.copy_part(upload.block, upload.id, number, address, start, length)
        if checksum is not None:
            self._core.uploads.keep_checksum(upload, number, part.checksum, checksum)
        return StoredPart(part, checksum)

    def parts(
        self, repository: str, branch: str, path: str, upload_id: str
    ) -> tuple[Upload, list[StoredPart]]:
        """Returns an upload and its parts, by number. Raises NotFound."""
        upload = self.get(repository, branch, path, upload_id)
        checksums = self._core.uploads.checksums(upload)
        return upload, [
            StoredPart(part, checksums.get((part.number, part.checksum)))
            for part in self._blocks.parts(upload.block, upload.id)
        ]

    def list(
        self,
        repository: str,
        *,
        prefix: str = "",
        delimiter: str = "",
        after_key: str = "",
        after_id: str = "",
        amount: int,
        readable: ReadablePaths | None = None,
    ) -> UploadPage:
        """Returns a page of unfinished uploads by key and id. Keys begin with the branch: `main/a`.
        Without `after_id` the page starts after all uploads of `after_key`. The page holds uploads
        to `readable` paths, all if that is None.
        """
        stored_repository = self._core.repositories.get(repository)
        start: bytes | None = _first_key(prefix, delimiter, after_key, after_id)
        rows: list[tuple[str, str]] = []
        while start is not None:
            row_limit = amount - len(rows) + 1
            batch = self._core.uploads.list_keys(stored_repository, prefix, start, amount=row_limit)
            start = None
            if len(batch) == row_limit:
                start = _first_key(prefix, "", *batch[-1])
            for key, upload_id in batch:
                if readable is not None and key.partition("/")[2] not in readable:
                    continue
                if len(rows) == amount:
                    return UploadPage(self._items(rows), rows[-1] if rows else None)
                group = _common_prefix(key, prefix, delimiter)
                if group:
                    rows.append((group, ""))
                    start = upper_bound(encode_path(group))
                    break
                rows.append((key, upload_id))
        return UploadPage(self._items(rows), None)

    def abort(self, repository: str, branch: str, path: str, upload_id: str) -> None:
        """Aborts an upload and deletes its parts. Raises NotFound. If only the store has completed
        the upload, its object is left to garbage collection: a client may have staged its address.
        """
        stored_repository = self._core.repositories.get(repository)
        stored = find_upload(self._core, stored_repository, branch, path, upload_id)
        if not self._core.uploads.abandon(stored):
            raise upload_not_found()
        upload = stored.upload
        self._blocks.abort_upload(upload.block, upload.id)
        self._core.uploads.forget_checksums(upload)

    def clean(self) -> int:
        """Deletes the parts and the records of uploads that ended an hour ago; returns how many
        uploads there were.
        """
        ended = self._core.uploads.ended(self._clock() - _ENDED_UPLOAD_SECONDS)
        for finish in ended:
            self._blocks.abort_upload(finish.upload.block, finish.upload.id)
            self._core.uploads.forget(finish)
        return len(ended)

    def _items(self, rows: Sequence[tuple[str, str]]) -> Sequence[Upload | CommonPrefix]:
        """Returns the items of rows, without uploads that ended meanwhile."""
        read = self._core.uploads.read([upload_id for _, upload_id in rows if upload_id])
        uploads = {upload.id: upload for upload in read}
        return [
            uploads[upload_id] if upload_id else CommonPrefix(key)
            for key, upload_id in rows
            if not upload_id or upload_id in uploads
        ]


def find_upload(
    core: Core, repository: Repository, branch: str, path: str, upload_id: str
) -> StoredUpload:
    """Returns an unfinished upload. Raises NotFound, also for an upload of another key, or to an
    area of tables, whose paths others have a right to.
    """
    is_object = bool(upload_id) and branch != AREAS
    stored = core.uploads.find(repository, upload_id) if is_object else None
    if stored is None or (stored.upload.branch, stored.upload.path) != (branch, path):
        raise upload_not_found()
    return stored


def _check_number(number: int) -> None:
    if not 1 <= number <= MAX_PARTS:
        raise Invalid(
            f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive",
            kind="invalid_part_number",
        )


def _first_key(prefix: str, delimiter: str, after_key: str, after_id: str) -> bytes | None:
    """Returns the first key of a page; None for a page after all keys."""
    if not after_key:
        return b""
    if after_id:
        return upload_key_prefix(after_key, after_id) + b"\x00"
    if _common_prefix(after_key, prefix, delimiter) == after_key:
        return upper_bound(encode_path(after_key))
    return end_of_key(after_key)


def _common_prefix(key: str, prefix: str, delimiter: str) -> str:
    """Returns the common prefix of a key, "" if it has none."""
    if not delimiter or not key.startswith(prefix):
        return ""
    head, separator, _ = key[len(prefix) :].partition(delimiter)
    return prefix + head + separator if separator else ""
