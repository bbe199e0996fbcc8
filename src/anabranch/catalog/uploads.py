"""Uploads in parts: begun, filled, looked at, aborted; `completion` makes objects of them.

Parts lie in the block store under the upload's own, fresh address, and nowhere else is anything to
be seen of them until the upload is completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.upload_errors import upload_not_found
from anabranch.catalog.objects import OpenObject
from anabranch.catalog.pinned_reads import pinned_etag, unreplaced
from anabranch.catalog.writes import Writes
from anabranch.errors import AnabranchError, Invalid, OutcomeUnknown
from anabranch.model.entry import DEFAULT_CONTENT_TYPE, Entry, physical_address, user_metadata
from anabranch.model.names import key_of
from anabranch.model.page import upper_bound
from anabranch.model.part import MAX_PARTS, Part
from anabranch.model.repository import Repository
from anabranch.model.stat import CommonPrefix
from anabranch.model.upload import Upload
from anabranch.versioning.core import Core
from anabranch.versioning.uploads import StoredUpload, end_of_key, place_of_upload

__all__ = ["HeldPart", "UploadPage", "Uploads", "found_upload"]

_REMEMBERED_SECONDS = 3600
"""How long what an upload has come to is known; and what came too late is then cleaned away."""

Checksum = tuple[str, str]
"""The name of an algorithm, and a checksum as S3 writes it."""

Digesting = Callable[[str, OpenObject, int, int], str]
"""Returns the checksum by an algorithm of an object's bytes from a place on, so many."""


class HeldPart(NamedTuple):
    """A part, and the name and the text of the checksum that it came with, if any."""

    part: Part
    checksum: Checksum | None


class UploadPage(NamedTuple):
    """A page of uploads and common prefixes of their keys, in order; `last` is the key and the id
    of the last, to go on after, where there are more.
    """

    items: Sequence[Upload | CommonPrefix]
    last: tuple[str, str] | None


class Uploads:
    """The use cases of uploads in parts. `clock` gives seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float], writes: Writes
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
        refuse_late: bool = False,
    ) -> Upload:
        """Begins an upload of an object to a branch. Raises as writing the object would; with
        `refuse_late`, a read-only repository and a protected branch are refused on completion.
        """
        if refuse_late:
            found = self._writes.branch_of_upload(repository, branch, path)
        else:
            found = self._writes.writable(repository, branch, path, force=force)
        address = self._core.identifiers.data_address()
        block = f"{found.storage_namespace.rstrip('/')}/{address}"
        upload = Upload(
            id=self._blocks.open_upload(block),
            partition=found.partition,
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
            self._core.uploads.begin(found, upload)
        except OutcomeUnknown:
            raise  # it may be there
        except AnabranchError:
            self._blocks.abort_upload(block, upload.id)
            raise
        return upload

    def get(self, repository: str, branch: str, path: str, upload_id: str) -> Upload:
        """Returns an upload that has not ended. Raises NotFound."""
        found = self._core.repositories.get(repository)
        return found_upload(self._core, found, branch, path, upload_id).upload

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
        """Stores the chunks as a part of an upload, in place of one that is there. `checksum` is
        asked, when all are read, for the one that they came with.

        Raises NotFound for an upload that is not there, Invalid for the number and for what has
        another hex `md5`, and what `chunks` raises; nothing has changed then.
        """
        upload = self.get(repository, branch, path, upload_id)
        _check_number(number)
        part = self._blocks.put_part(upload.block, upload.id, number, chunks, md5=md5)
        told = checksum()
        if told is not None:
            self._core.uploads.keep_checksum(upload, number, part.checksum, told)
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
        digested: Digesting | None = None,
    ) -> HeldPart:
        """Stores a part of an upload that is copied out of another object: from where `select`
        says, and so many bytes. Where the upload was begun for a checksum, `digested` makes that
        of the part.

        Raises as `put_part` does, and what `select` and `digested` raise.
        """
        upload = self.get(repository, branch, path, upload_id)
        _check_number(number)
        source = self._core.repositories.get(source_repository)
        entry = self._core.objects.get(source, source_ref, source_path)
        start, length = select(entry)
        checksum: Checksum | None = None
        algorithm = upload.checksum_algorithm
        if algorithm and digested is not None:
            opened = OpenObject(source, entry, self._blocks)
            checksum = algorithm, digested(algorithm, opened, start, length)
        address = physical_address(source.storage_namespace, entry.address, entry.address_type)
        with unreplaced(self._blocks, address, pinned_etag(entry)):
            part = self._blocks.copy_part(upload.block, upload.id, number, address, start, length)
        if checksum is not None:
            self._core.uploads.keep_checksum(upload, number, part.checksum, checksum)
        return HeldPart(part, checksum)

    def parts(
        self, repository: str, branch: str, path: str, upload_id: str
    ) -> tuple[Upload, list[HeldPart]]:
        """Returns an upload and its parts, by number. Raises NotFound."""
        upload = self.get(repository, branch, path, upload_id)
        checksums = self._core.uploads.checksums(upload)
        return upload, [
            HeldPart(part, checksums.get((part.number, part.checksum)))
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
    ) -> UploadPage:
        """Returns a page of uploads that have not ended, by key and id. Keys have the branch in
        them: `main/a`. Without `after_id` the page begins behind all uploads of `after_key`.
        """
        found = self._core.repositories.get(repository)
        start: bytes | None = _start(prefix, delimiter, after_key, after_id)
        rows: list[tuple[str, str]] = []
        while start is not None:
            wanted = amount - len(rows) + 1
            batch = self._core.uploads.listed(found, prefix, start, amount=wanted)
            start = None if len(batch) < wanted else b""
            for key, upload_id in batch:
                if len(rows) == amount:
                    return UploadPage(self._items(rows), rows[-1] if rows else None)
                group = _group(key, prefix, delimiter)
                if group:
                    rows.append((group, ""))
                    start = upper_bound(key_of(group))
                    break
                rows.append((key, upload_id))
        return UploadPage(self._items(rows), None)

    def abort(self, repository: str, branch: str, path: str, upload_id: str) -> None:
        """Ends an upload and removes its parts. Raises NotFound."""
        found = self._core.repositories.get(repository)
        stored = found_upload(self._core, found, branch, path, upload_id)
        if not self._core.uploads.abandon(stored):
            raise upload_not_found()
        upload = stored.upload
        self._blocks.abort_upload(upload.block, upload.id)
        self._blocks.delete([upload.block])
        self._core.uploads.forget_checksums(upload)

    def clean(self) -> int:
        """Removes what may be left of uploads that ended an hour ago, and forgets them; returns
        how many there were.
        """
        ended = self._core.uploads.ended(self._clock() - _REMEMBERED_SECONDS)
        for finish in ended:
            self._blocks.abort_upload(finish.upload.block, finish.upload.id)
            if not finish.etag:
                self._blocks.delete([finish.upload.block])
            self._core.uploads.forget(finish)
        return len(ended)

    def _items(self, rows: Sequence[tuple[str, str]]) -> Sequence[Upload | CommonPrefix]:
        """Returns what rows stand for; of uploads those that have not ended meanwhile."""
        read = self._core.uploads.read([upload_id for _, upload_id in rows if upload_id])
        uploads = {upload.id: upload for upload in read}
        return [
            uploads[upload_id] if upload_id else CommonPrefix(key)
            for key, upload_id in rows
            if not upload_id or upload_id in uploads
        ]


def found_upload(
    core: Core, repository: Repository, branch: str, path: str, upload_id: str
) -> StoredUpload:
    """Returns an upload that has not ended. Raises NotFound, also where it is of another key."""
    stored = core.uploads.find(repository, upload_id) if upload_id else None
    if stored is None or (stored.upload.branch, stored.upload.path) != (branch, path):
        raise upload_not_found()
    return stored


def _check_number(number: int) -> None:
    if not 1 <= number <= MAX_PARTS:
        raise Invalid(
            f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive",
            kind="invalid_part_number",
        )


def _start(prefix: str, delimiter: str, after_key: str, after_id: str) -> bytes | None:
    """Returns where a page begins; None for a page behind everything."""
    if not after_key:
        return b""
    if after_id:
        return place_of_upload(after_key, after_id) + b"\x00"
    if _group(after_key, prefix, delimiter) == after_key:
        return upper_bound(key_of(after_key))
    return end_of_key(after_key)


def _group(key: str, prefix: str, delimiter: str) -> str:
    """Returns the common prefix that a key belongs to, the empty string for none."""
    if not delimiter or not key.startswith(prefix):
        return ""
    head, found, _ = key[len(prefix) :].partition(delimiter)
    return prefix + head + found if found else ""
