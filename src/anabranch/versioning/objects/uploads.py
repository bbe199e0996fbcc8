"""Multipart uploads: those in progress, and for a while those that have ended.

    partition              key                    value
    multiparts             UPLOAD                 the upload, as lakeFS stores it
    (the repository's)     uploads/KEY NUL UPLOAD empty: an index for listings
    multiparts-parts:UPLOAD  NUMBER               the checksum that a part was sent with
    multiparts-finished    UPLOAD                 the upload, how and when it ended

An upload ends in one step, which removes the first two records and adds the last; a late request
reads there how the upload ended, and a cleaner what may remain to be removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from anabranch.errors import Corrupt, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import decode_key, encode_path
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.uploads.upload import Finish, Upload
from anabranch.versioning.records import keys
from anabranch.versioning.records.uploads import (
    checksum_bytes,
    checksum_from,
    finish_bytes,
    finish_from,
    upload_bytes,
    upload_from,
)
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = [
    "CompleteUpload",
    "StoredUpload",
    "Uploads",
    "abandon_all",
    "end_of_key",
    "upload_key_prefix",
]

_SEPARATOR = b"\x00"


class StoredUpload(NamedTuple):
    """An upload with the record that it was read from, which compare-and-set compares."""

    upload: Upload
    record: bytes


class Uploads:
    """The uploads of all repositories. `clock` returns seconds since 1970."""

    def __init__(
        self, keyvalue: KeyValueStore, branches: Branches, clock: Callable[[], float]
    ) -> None:
        self._keyvalue = keyvalue
        self._branches = branches
        self._clock = clock

    def begin(self, repository: Repository, upload: Upload) -> None:
        """Records a new upload. Raises NotFound if its branch does not exist."""
        writes = [
            Write(keys.UPLOADS, upload.id.encode(), upload_bytes(upload)),
            Write(repository.partition, _listing_key(upload), b""),
        ]
        for stored in self._branches.attempts(repository, upload.branch):
            if self._branches.apply(repository, stored, writes):
                return

    def begin_in_area(self, upload: Upload) -> None:
        """Records a new upload of a file of a table, which is in no listing and on no branch."""
        self._keyvalue.apply([Write(keys.UPLOADS, upload.id.encode(), upload_bytes(upload))])

    def forget_in_area(self, upload_id: str, block: str) -> None:
        """Removes the record of an upload of a file of a table, after what it has stored, if it is
        the upload to this full address: a client may give any id.
        """
        key = encode_path(upload_id)
        raw = self._keyvalue.get(keys.UPLOADS, key)
        if raw is not None and upload_from(raw).block == block:
            self._keyvalue.apply([Write(keys.UPLOADS, key, None)], [Expect(keys.UPLOADS, key, raw)])

    def find(self, repository: Repository, upload_id: str) -> StoredUpload | None:
        """Returns an upload in progress of a repository, or None."""
        raw = self._keyvalue.get(keys.UPLOADS, encode_path(upload_id))
        stored = None if raw is None else StoredUpload(upload_from(raw), raw)
        return None if stored is None or stored.upload.partition != repository.partition else stored

    def finish(self, repository: Repository, upload_id: str) -> Finish | None:
        """Returns how an upload of a repository ended; None if it has not ended or its record has
        been removed.
        """
        raw = self._keyvalue.get(keys.FINISHED_UPLOADS, encode_path(upload_id))
        finish = None if raw is None else finish_from(raw)
        return None if finish is None or finish.upload.partition != repository.partition else finish

    def completion(
        self, stored: StoredUpload, etag: str, checksum: str, numbers: Iterable[int]
    ) -> ExtraWrites:
        """Returns the writes that complete an upload and remove the checksums of the parts with
        these numbers, on condition that it has not ended. Raises NotFound if it has.
        """
        upload = stored.upload
        if self._keyvalue.get(keys.UPLOADS, upload.id.encode()) != stored.record:
            raise NotFound("the upload has ended", kind="upload_not_found")
        finish = Finish(upload=upload, time=int(self._clock()), etag=etag, checksum=checksum)
        parts = keys.upload_parts(upload.id)
        removed = [Write(parts, _part_key(number), None) for number in numbers]
        return [*_end_writes(finish), *removed], [_expect_unchanged(stored)]

    def abandon(self, stored: StoredUpload) -> bool:
        """Aborts an upload; returns False if it had ended already."""
        finish = Finish(upload=stored.upload, time=int(self._clock()))
        return self._keyvalue.apply(_end_writes(finish), [_expect_unchanged(stored)])

    def ended(self, before: float) -> list[Finish]:
        """Returns uploads that ended before a time, in seconds since 1970."""
        finished = (finish_from(raw) for _, raw in self._keyvalue.scan(keys.FINISHED_UPLOADS))
        return [finish for finish in finished if finish.time < before]

    def forget(self, finish: Finish) -> None:
        """Removes the records of an upload that has ended."""
        self.forget_checksums(finish.upload)
        self._keyvalue.apply([Write(keys.FINISHED_UPLOADS, finish.upload.id.encode(), None)])

    def list_keys(
        self, repository: Repository, prefix: str, start: bytes, *, amount: int
    ) -> list[tuple[str, str]]:
        """Returns the keys and ids of at most `amount` uploads whose keys begin with `prefix`, by
        key and id, from the listing position `start` on.
        """
        stem = encode_path(prefix)
        end = upper_bound(keys.upload(stem))
        rows = self._keyvalue.scan(
            repository.partition, keys.upload(max(stem, start)), end, limit=amount
        )
        parts = (keys.upload_key(row_key).rpartition(_SEPARATOR) for row_key, _ in rows)
        return [(decode_key(key), decode_key(upload_id)) for key, _, upload_id in parts]

    def read(self, ids: Sequence[str]) -> list[Upload]:
        """Returns those of the uploads with these ids that have not ended."""
        raws = self._keyvalue.get_many(keys.UPLOADS, [upload_id.encode() for upload_id in ids])
        return [upload_from(raw) for raw in raws if raw is not None]

    def all(self) -> Iterator[Upload]:
        """Yields the uploads of all repositories, also those that have ended but are still
        recorded. An upload that lakeFS has begun has no partition.
        """
        for _, raw in self._keyvalue.scan(keys.UPLOADS):
            yield upload_from(raw)
        for _, raw in self._keyvalue.scan(keys.FINISHED_UPLOADS):
            yield finish_from(raw).upload

    def keep_checksum(
        self, upload: Upload, number: int, md5: str, checksum: tuple[str, str]
    ) -> None:
        """Records the algorithm and the text of the checksum that a part with this MD5 was sent
        with.
        """
        value = checksum_bytes(md5, *checksum)
        self._keyvalue.apply([Write(keys.upload_parts(upload.id), _part_key(number), value)])

    def checksums(self, upload: Upload) -> dict[tuple[int, str], tuple[str, str]]:
        """Returns the checksums that parts were sent with, by part number and MD5."""
        checksums = {}
        for number, raw in self._keyvalue.scan(keys.upload_parts(upload.id)):
            md5, *checksum = checksum_from(raw)
            checksums[int(number), md5] = (checksum[0], checksum[1])
        return checksums

    def forget_checksums(self, upload: Upload) -> None:
        """Removes the checksums of an upload that has ended."""
        self._keyvalue.drop(keys.upload_parts(upload.id))


class CompleteUpload(msgspec.Struct, frozen=True):
    """The end of an upload, in the step that stages its object."""

    uploads: Uploads
    stored: StoredUpload
    etag: str
    checksum: str
    numbers: Sequence[int]

    def writes_for(self, _: None, /) -> ExtraWrites:
        """Returns the writes. Raises as `Uploads.completion` does."""
        return self.uploads.completion(self.stored, self.etag, self.checksum, self.numbers)


def upload_key_prefix(key: str, upload_id: str) -> bytes:
    """Returns the listing position of an upload among those of its repository."""
    return encode_path(key) + _SEPARATOR + encode_path(upload_id)


def end_of_key(key: str) -> bytes:
    """Returns the listing position after all uploads of a key."""
    return encode_path(key) + _SEPARATOR + b"\xff"


def abandon_all(keyvalue: KeyValueStore, partition: str, now: float) -> None:
    """Aborts all uploads of a repository whose partition is about to be dropped; `now` in seconds
    since 1970.
    """
    for row_key, _ in keyvalue.scan(partition, *keys.all_uploads()):
        upload_id = keys.upload_key(row_key).rpartition(_SEPARATOR)[2]
        raw = keyvalue.get(keys.UPLOADS, upload_id)
        if raw is not None:
            _abandon(keyvalue, StoredUpload(upload_from(raw), raw), now)
    for _, raw in list(keyvalue.scan(keys.UPLOADS)):  # those to areas are in no listing
        with suppress(Corrupt):
            stored = StoredUpload(upload_from(raw), raw)
            if stored.upload.partition == partition:
                _abandon(keyvalue, stored, now)


def _abandon(keyvalue: KeyValueStore, stored: StoredUpload, now: float) -> None:
    finish = Finish(upload=stored.upload, time=int(now))
    keyvalue.apply(_end_writes(finish), [_expect_unchanged(stored)])


def _end_writes(finish: Finish) -> list[Write]:
    upload = finish.upload
    return [
        Write(keys.UPLOADS, upload.id.encode(), None),
        Write(upload.partition, _listing_key(upload), None),
        Write(keys.FINISHED_UPLOADS, upload.id.encode(), finish_bytes(finish)),
    ]


def _part_key(number: int) -> bytes:
    return b"%05d" % number


def _expect_unchanged(stored: StoredUpload) -> Expect:
    return Expect(keys.UPLOADS, stored.upload.id.encode(), stored.record)


def _listing_key(upload: Upload) -> bytes:
    return keys.upload(upload_key_prefix(upload.key, upload.id))
