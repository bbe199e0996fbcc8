"""Completion of multipart uploads: the parts become one object, atomically and once.

The block store joins the parts into one block, an operation that can be repeated; then one step
stages the object and ends the upload. For a while, a repeated request gets the first response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.multipart.errors import upload_not_found
from anabranch.catalog.objects.uploads import StoredPart, find_upload
from anabranch.catalog.objects.write_checks import Precondition, WriteChecks
from anabranch.errors import AnabranchError, Invalid, NotFound
from anabranch.model.objects.entry import Entry, user_metadata
from anabranch.model.repositories.repository import Repository
from anabranch.model.uploads.object_checksum import ObjectChecksum, checksum_metadata
from anabranch.model.uploads.object_parts import object_parts, parts_metadata
from anabranch.model.uploads.part import multipart_checksum
from anabranch.model.uploads.upload import Finish, Upload
from anabranch.versioning.core import Core
from anabranch.versioning.objects.uploads import CompleteUpload

__all__ = ["MIN_PART_BYTES", "Completed", "Completion", "WantedPart"]

MIN_PART_BYTES = 5 * 1024 * 1024
"""Least size of each part but the last, as in S3."""

_MD5 = re.compile(r"[0-9a-f]{32}")
_ENDED_KINDS = frozenset({"upload_not_found", "part_not_found"})

CombineChecksums = Callable[[Upload, Sequence[StoredPart]], str]
"""Returns the checksum of the object from those of the parts, "" for none; may raise."""


class WantedPart(NamedTuple):
    """A part to join, by number and MD5. `checksums` are those that it must have been uploaded
    with, by the names of their algorithms.
    """

    number: int
    md5: str
    checksums: Mapping[str, str]


class Completed(NamedTuple):
    """The object of a completed upload; `checksum` is combined from those of the parts."""

    etag: str
    checksum: str
    checksum_algorithm: str
    checksum_type: str


class Completion:
    """Use case of completing multipart uploads."""

    def __init__(self, core: Core, blocks: BlockStore, writes: WriteChecks) -> None:
        self._core = core
        self._blocks = blocks
        self._writes = writes

    def complete(
        self,
        repository: str,
        branch: str,
        path: str,
        upload_id: str,
        wanted: Sequence[WantedPart],
        *,
        size: int | None = None,
        combine_checksums: CombineChecksums = lambda _upload, _parts: "",
        if_absent: bool = False,
        precondition: Precondition | None = None,
        content_type: str = "",
        metadata: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> Completed:
        """Makes an object of an upload's parts. `wanted` is in the order of part numbers; the
        object must have `size` bytes, if given. `content_type` and `metadata` override those of the
        upload.

        Raises NotFound for a missing upload, Invalid for missing parts (part_not_found), small
        parts (part_too_small) and a wrong total size (wrong_size); what `combine_checksums` raises,
        and what uploading the object would. Nothing has changed then.
        """
        stored_repository = self._writes.require_writable(repository, branch, path, force=force)
        if not wanted:
            raise Invalid("You must specify at least one part", kind="no_parts")
        for part in wanted:
            if not _MD5.fullmatch(part.md5):
                # a missing upload is reported first
                find_upload(self._core, stored_repository, branch, path, upload_id)
                raise _no_such_part(part.number)
        etag = multipart_checksum([part.md5 for part in wanted])
        try:
            stored = find_upload(self._core, stored_repository, branch, path, upload_id)
            upload = msgspec.structs.replace(
                stored.upload,
                content_type=content_type or stored.upload.content_type,
                metadata=user_metadata({**stored.upload.metadata, **(metadata or {})}),
            )
            self._writes.check_preconditions_early(
                stored_repository, branch, path, if_absent=if_absent, precondition=precondition
            )
            parts = self._select_parts(upload, wanted, size)
            checksum = combine_checksums(upload, parts) if parts else ""
            numbers_with_checksum = [
                held.part.number for held in parts if held.checksum is not None
            ]
            entry = self._assemble(upload, wanted)
            entry = msgspec.structs.replace(
                entry, system_metadata=_system_metadata(upload, entry, parts, checksum)
            )
            self._writes.stage(
                stored_repository,
                branch,
                path,
                entry,
                if_absent=if_absent,
                precondition=precondition,
                extra_writes=[
                    CompleteUpload(
                        self._core.uploads, stored, etag, checksum, numbers_with_checksum
                    )
                ],
            )
        except (NotFound, Invalid) as error:
            if error.kind not in _ENDED_KINDS:
                raise
            finish = self._find_finish(stored_repository, upload_id)
            if finish is None:
                raise
            if (finish.upload.key, finish.etag) != (f"{branch}/{path}", etag):
                raise upload_not_found() from error
            return _to_completed(finish.upload, etag, finish.checksum)
        with suppress(AnabranchError):  # the periodic cleanup removes the rest
            self._blocks.abort_upload(upload.block, upload.id)
        return _to_completed(upload, etag, checksum)

    def _select_parts(
        self, upload: Upload, wanted: Sequence[WantedPart], size: int | None
    ) -> list[StoredPart]:
        """Returns the wanted parts; none if the store has joined them already, but the process was
        interrupted before the upload ended.
        """
        try:
            stored_parts = {
                part.number: part for part in self._blocks.parts(upload.block, upload.id)
            }
        except NotFound:
            return []
        checksums = self._core.uploads.checksums(upload)
        selected = []
        for number, md5, other_checksums in wanted:
            part = stored_parts.get(number)
            checksum = checksums.get((number, md5))
            if part is None or part.checksum != md5 or not other_checksums.items() <= {checksum}:
                raise _no_such_part(number)
            selected.append(StoredPart(part, checksum))
        for part, _ in selected[:-1]:
            if part.size < MIN_PART_BYTES:
                raise Invalid(
                    f"Part {part.number} has {part.size} bytes; every part but the last must have "
                    f"at least {MIN_PART_BYTES}",
                    kind="part_too_small",
                )
        total = sum(part.size for part, _ in selected)
        if size not in {None, total}:
            raise Invalid(f"The parts have {total} bytes, not {size}", kind="wrong_size")
        return selected

    def _assemble(self, upload: Upload, wanted: Sequence[WantedPart]) -> Entry:
        parts = [(part.number, part.md5) for part in wanted]
        stored = self._blocks.complete_upload(upload.block, upload.id, parts)
        return Entry(
            address=upload.address,
            size=stored.size,
            mtime=stored.mtime,
            checksum=stored.checksum,
            metadata=upload.metadata,
            content_type=upload.content_type,
        )

    def _find_finish(self, repository: Repository, upload_id: str) -> Finish | None:
        """Returns how an upload ended, None if unknown. Deletes the parts of an upload that was
        aborted during completion; an object made of them is left to garbage collection.
        """
        finish = self._core.uploads.finish(repository, upload_id)
        if finish is not None and not finish.etag:
            self._blocks.abort_upload(finish.upload.block, finish.upload.id)
        return finish


def _no_such_part(number: int) -> Invalid:
    return Invalid(f"There is no such part {number}", kind="part_not_found")


def _system_metadata(
    upload: Upload, entry: Entry, parts: Sequence[StoredPart], checksum: str
) -> dict[str, str]:
    """Returns the system metadata of an object: its parts and its checksum, as far as known."""
    if not parts:
        return {}
    algorithm = upload.checksum_algorithm
    known = ObjectChecksum(algorithm, checksum) if checksum else None
    of_parts = object_parts((held.part.size for held in parts), [held.checksum for held in parts])
    return {**checksum_metadata(entry.checksum, known), **parts_metadata(entry.checksum, of_parts)}


def _to_completed(upload: Upload, etag: str, checksum: str) -> Completed:
    return Completed(etag, checksum, upload.checksum_algorithm, upload.checksum_type)
