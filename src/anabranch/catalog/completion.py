"""Completes uploads: parts become an object, at once and once.

The block store makes one block of the parts, which may be repeated; then one step stages the
object and ends the upload. Whoever asks again for the same is told the same, for a while.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.upload_errors import upload_not_found
from anabranch.catalog.uploads import HeldPart, found_upload
from anabranch.catalog.writes import Expecting, Writes
from anabranch.errors import AnabranchError, Invalid, NotFound
from anabranch.model.entry import Entry, user_metadata
from anabranch.model.object_checksum import ObjectChecksum, checksum_metadata
from anabranch.model.object_parts import object_parts, parts_metadata
from anabranch.model.part import checksum_of_parts
from anabranch.model.repository import Repository
from anabranch.model.upload import Finish, Upload
from anabranch.versioning.core import Core

__all__ = ["SMALLEST_PART_BYTES", "Completed", "Completion", "WantedPart"]

SMALLEST_PART_BYTES = 5 * 1024 * 1024
"""What every part but the last has at least, as in S3."""

_MD5 = re.compile(r"[0-9a-f]{32}")
_OVER = frozenset({"upload_not_found", "part_not_found"})

Combining = Callable[[Upload, Sequence[HeldPart]], str]
"""Makes the checksum of the whole, if one is wanted, of those of the parts; may raise."""


class WantedPart(NamedTuple):
    """A part that shall be in the object, by number and MD5, and what other checksums it must
    have come with, by their names.
    """

    number: int
    md5: str
    checksums: Mapping[str, str]


class Completed(NamedTuple):
    """What an upload has become; `checksum` is what was combined."""

    etag: str
    checksum: str
    checksum_algorithm: str
    checksum_type: str


class Completion:
    """The use case of completing."""

    def __init__(self, core: Core, blocks: BlockStore, writes: Writes) -> None:
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
        combined: Combining = lambda _upload, _parts: "",
        if_absent: bool = False,
        expecting: Expecting | None = None,
        content_type: str = "",
        metadata: Mapping[str, str] | None = None,
        force: bool = False,
    ) -> Completed:
        """Makes an object of an upload's parts, which are `wanted` in the order of their numbers;
        it shall have `size` bytes. `content_type` and `metadata` go before those that the upload
        was begun with.

        Raises NotFound for an upload that is not there, Invalid for parts that are not there
        (part_not_found), too small (part_too_small) or of another size in all (wrong_size); what
        `combined` raises; what uploading the object would. Nothing has changed then.
        """
        found = self._writes.writable(repository, branch, path, force=force)
        if not wanted:
            raise Invalid("You must specify at least one part", kind="no_parts")
        for part in wanted:
            if not _MD5.fullmatch(part.md5):
                # an upload that is not there is reported first
                found_upload(self._core, found, branch, path, upload_id)
                raise _no_such_part(part.number)
        etag = checksum_of_parts([part.md5 for part in wanted])
        try:
            stored = found_upload(self._core, found, branch, path, upload_id)
            upload = msgspec.structs.replace(
                stored.upload,
                content_type=content_type or stored.upload.content_type,
                metadata={**stored.upload.metadata, **user_metadata(metadata)},
            )
            self._writes.refuse_early(found, branch, path, if_absent=if_absent, expecting=expecting)
            chosen = self._chosen(upload, wanted, size)
            checksum = combined(upload, chosen) if chosen else ""
            told = [held.part.number for held in chosen if held.checksum is not None]
            entry = self._whole(upload, wanted)
            entry = msgspec.structs.replace(
                entry, system_metadata=_system_metadata(upload, entry, chosen, checksum)
            )
            self._writes.stage(
                found,
                branch,
                path,
                entry,
                if_absent=if_absent,
                expecting=expecting,
                beside=lambda: self._core.uploads.completion(stored, etag, checksum, told),
            )
        except (NotFound, Invalid) as error:
            if error.kind not in _OVER:
                raise
            finish = self._finish(found, upload_id)
            if finish is None:
                raise
            if (finish.upload.key, finish.etag) != (f"{branch}/{path}", etag):
                raise upload_not_found() from error
            return _told(finish.upload, etag, finish.checksum)
        with suppress(AnabranchError):  # what is left now is cleaned later
            self._blocks.abort_upload(upload.block, upload.id)
        return _told(upload, etag, checksum)

    def _chosen(
        self, upload: Upload, wanted: Sequence[WantedPart], size: int | None
    ) -> list[HeldPart]:
        """Returns the parts that are wanted; none at all where the store has completed them
        already, and was stopped before it could be written down.
        """
        try:
            held = {part.number: part for part in self._blocks.parts(upload.block, upload.id)}
        except NotFound:
            return []
        checksums = self._core.uploads.checksums(upload)
        chosen = []
        for number, md5, others in wanted:
            part = held.get(number)
            told = checksums.get((number, md5))
            if part is None or part.checksum != md5 or not others.items() <= {told}:
                raise _no_such_part(number)
            chosen.append(HeldPart(part, told))
        for part, _ in chosen[:-1]:
            if part.size < SMALLEST_PART_BYTES:
                raise Invalid(
                    f"Part {part.number} has {part.size} bytes; every part but the last must have "
                    f"at least {SMALLEST_PART_BYTES}",
                    kind="part_too_small",
                )
        total = sum(part.size for part, _ in chosen)
        if size not in {None, total}:
            raise Invalid(f"The parts have {total} bytes, not {size}", kind="wrong_size")
        return chosen

    def _whole(self, upload: Upload, wanted: Sequence[WantedPart]) -> Entry:
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

    def _finish(self, repository: Repository, upload_id: str) -> Finish | None:
        """Returns how an upload ended, if that is known. What was made of one that was aborted
        meanwhile is removed.
        """
        finish = self._core.uploads.finish(repository, upload_id)
        if finish is not None and not finish.etag:
            self._blocks.abort_upload(finish.upload.block, finish.upload.id)
            self._blocks.delete([finish.upload.block])
        return finish


def _no_such_part(number: int) -> Invalid:
    return Invalid(f"There is no such part {number}", kind="part_not_found")


def _system_metadata(
    upload: Upload, entry: Entry, parts: Sequence[HeldPart], checksum: str
) -> dict[str, str]:
    """Returns what is kept with an object of its parts and its checksum, as far as it is known."""
    if not parts:
        return {}
    algorithm = upload.checksum_algorithm
    known = ObjectChecksum(algorithm, checksum) if checksum else None
    of_parts = object_parts((held.part.size for held in parts), [held.checksum for held in parts])
    return {**checksum_metadata(entry.checksum, known), **parts_metadata(entry.checksum, of_parts)}


def _told(upload: Upload, etag: str, checksum: str) -> Completed:
    return Completed(etag, checksum, upload.checksum_algorithm, upload.checksum_type)
