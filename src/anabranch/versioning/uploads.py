"""Uploads in parts that have begun, and for a while those that have ended.

    partition              key                    value
    multiparts             UPLOAD                 the upload, as lakeFS keeps it
    (the repository's)     uploads/KEY NUL UPLOAD nothing: it is there to be listed
    multiparts-parts:UPLOAD  NUMBER               the checksum that a part came with
    multiparts-finished    UPLOAD                 the upload, how and when it ended

An upload ends in one step, which takes it out of the first two and puts it into the last; whoever
comes too late finds there what it has come to, and a cleaner finds what may be left to remove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from anabranch.errors import NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import key_of, path_of
from anabranch.model.page import upper_bound
from anabranch.model.repository import Repository
from anabranch.model.upload import Finish, Upload
from anabranch.versioning import keys
from anabranch.versioning.branches import Branches, StoredBranch
from anabranch.versioning.upload_encoding import (
    checksum_bytes,
    checksum_from,
    finish_bytes,
    finish_from,
    upload_bytes,
    upload_from,
)

__all__ = ["StoredUpload", "Uploads", "abandon_all", "end_of_key", "place_of_upload"]

_BETWEEN = b"\x00"

_Decision = tuple[Sequence[Write], Sequence[Expect]]


class StoredUpload(NamedTuple):
    """An upload with the record that it was read from, which compare-and-set compares."""

    upload: Upload
    record: bytes


class Uploads:
    """The uploads of all repositories. `clock` gives seconds since 1970."""

    def __init__(
        self, keyvalue: KeyValueStore, branches: Branches, clock: Callable[[], float]
    ) -> None:
        self._keyvalue = keyvalue
        self._branches = branches
        self._clock = clock

    def begin(self, repository: Repository, upload: Upload) -> None:
        """Writes an upload down. Raises NotFound if its branch is not there."""
        writes = [
            Write(keys.UPLOADS, upload.id.encode(), upload_bytes(upload)),
            Write(repository.partition, _listed(upload), b""),
        ]

        def step(_: StoredBranch) -> _Decision:
            return writes, []

        self._branches.update(repository, upload.branch, step)

    def find(self, repository: Repository, upload_id: str) -> StoredUpload | None:
        """Returns an upload of a repository that has not ended, or None."""
        raw = self._keyvalue.get(keys.UPLOADS, key_of(upload_id))
        stored = None if raw is None else StoredUpload(upload_from(raw), raw)
        return None if stored is None or stored.upload.partition != repository.partition else stored

    def finish(self, repository: Repository, upload_id: str) -> Finish | None:
        """Returns how an upload of a repository ended, or None, also for one that has not or that
        is forgotten.
        """
        raw = self._keyvalue.get(keys.FINISHED_UPLOADS, key_of(upload_id))
        finish = None if raw is None else finish_from(raw)
        return None if finish is None or finish.upload.partition != repository.partition else finish

    def completion(
        self, stored: StoredUpload, etag: str, checksum: str, numbers: Iterable[int]
    ) -> _Decision:
        """Returns the writes that end an upload, completed, and forget the checksums of parts of
        these numbers, on condition that it has not ended. Raises NotFound if it has.
        """
        upload = stored.upload
        if self._keyvalue.get(keys.UPLOADS, upload.id.encode()) != stored.record:
            raise NotFound("the upload has ended", kind="upload_not_found")
        finish = Finish(upload=upload, time=int(self._clock()), etag=etag, checksum=checksum)
        parts = keys.upload_parts(upload.id)
        forgotten = [Write(parts, _number(number), None) for number in numbers]
        return [*_ending(finish), *forgotten], [_unchanged(stored)]

    def abandon(self, stored: StoredUpload) -> bool:
        """Ends an upload; returns whether it had not ended already."""
        finish = Finish(upload=stored.upload, time=int(self._clock()))
        return self._keyvalue.apply(_ending(finish), [_unchanged(stored)])

    def ended(self, before: float) -> list[Finish]:
        """Returns uploads that ended before a time, in seconds since 1970."""
        finished = (finish_from(raw) for _, raw in self._keyvalue.scan(keys.FINISHED_UPLOADS))
        return [finish for finish in finished if finish.time < before]

    def forget(self, finish: Finish) -> None:
        """Forgets an upload that has ended."""
        self.forget_checksums(finish.upload)
        self._keyvalue.apply([Write(keys.FINISHED_UPLOADS, finish.upload.id.encode(), None)])

    def listed(
        self, repository: Repository, prefix: str, start: bytes, *, amount: int
    ) -> list[tuple[str, str]]:
        """Returns the keys and ids of uploads whose keys begin with `prefix`, by key and id, from
        the place `start` on; at most so many.
        """
        stem = key_of(prefix)
        end = upper_bound(keys.upload(stem))
        found = self._keyvalue.scan(
            repository.partition, keys.upload(max(stem, start)), end, limit=amount
        )
        rows = (keys.upload_key(place).rpartition(_BETWEEN) for place, _ in found)
        return [(path_of(key), path_of(upload_id)) for key, _, upload_id in rows]

    def read(self, ids: Sequence[str]) -> list[Upload]:
        """Returns the uploads of these ids that have not ended."""
        raws = self._keyvalue.get_many(keys.UPLOADS, [upload_id.encode() for upload_id in ids])
        return [upload_from(raw) for raw in raws if raw is not None]

    def all(self) -> Iterator[Upload]:
        """Yields the uploads of all repositories, those that have ended a while ago too. One that
        lakeFS has begun has no partition.
        """
        for _, raw in self._keyvalue.scan(keys.UPLOADS):
            yield upload_from(raw)
        for _, raw in self._keyvalue.scan(keys.FINISHED_UPLOADS):
            yield finish_from(raw).upload

    def keep_checksum(
        self, upload: Upload, number: int, md5: str, checksum: tuple[str, str]
    ) -> None:
        """Keeps the name and the text of the checksum that a part of this MD5 came with."""
        value = checksum_bytes(md5, *checksum)
        self._keyvalue.apply([Write(keys.upload_parts(upload.id), _number(number), value)])

    def checksums(self, upload: Upload) -> dict[tuple[int, str], tuple[str, str]]:
        """Returns the checksums that parts came with, by the parts' numbers and MD5s."""
        found = {}
        for number, raw in self._keyvalue.scan(keys.upload_parts(upload.id)):
            md5, *checksum = checksum_from(raw)
            found[int(number), md5] = (checksum[0], checksum[1])
        return found

    def forget_checksums(self, upload: Upload) -> None:
        """Forgets the checksums of an upload that has ended."""
        self._keyvalue.drop(keys.upload_parts(upload.id))


def place_of_upload(key: str, upload_id: str) -> bytes:
    """Returns where an upload stands among those of its repository."""
    return key_of(key) + _BETWEEN + key_of(upload_id)


def end_of_key(key: str) -> bytes:
    """Returns the place behind all uploads of a key."""
    return key_of(key) + _BETWEEN + b"\xff"


def abandon_all(keyvalue: KeyValueStore, partition: str, now: float) -> None:
    """Ends all uploads of a repository, whose partition is about to be dropped; `now` in seconds
    since 1970.
    """
    for place, _ in keyvalue.scan(partition, *keys.all_uploads()):
        upload_id = keys.upload_key(place).rpartition(_BETWEEN)[2]
        raw = keyvalue.get(keys.UPLOADS, upload_id)
        if raw is not None:
            stored = StoredUpload(upload_from(raw), raw)
            finish = Finish(upload=stored.upload, time=int(now))
            keyvalue.apply(_ending(finish), [_unchanged(stored)])


def _ending(finish: Finish) -> list[Write]:
    upload = finish.upload
    return [
        Write(keys.UPLOADS, upload.id.encode(), None),
        Write(upload.partition, _listed(upload), None),
        Write(keys.FINISHED_UPLOADS, upload.id.encode(), finish_bytes(finish)),
    ]


def _number(number: int) -> bytes:
    return b"%05d" % number


def _unchanged(stored: StoredUpload) -> Expect:
    return Expect(keys.UPLOADS, stored.upload.id.encode(), stored.record)


def _listed(upload: Upload) -> bytes:
    return keys.upload(place_of_upload(upload.key, upload.id))
