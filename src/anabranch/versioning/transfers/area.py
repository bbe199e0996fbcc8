"""The staging areas of transfers: written while no branch names them, then made visible at once.

An area is inserted beneath the areas that other clients have written to since the transfer read the
branch: the transfer takes effect at that moment, and a later write to one of its paths is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Busy, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import AddressType, physical_address, relative_address
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT
from anabranch.versioning.garbage.record_admission import RecordAdmission, RecordChange
from anabranch.versioning.objects.changes import destination_exists
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.records import keys
from anabranch.versioning.records.entries import Value, entry_from, entry_value
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard as schedule_drop

__all__ = ["BranchChangedError", "Prefixes", "Source", "TransferAreas", "branch_snapshot"]

MAX_SECONDS = 24 * 3600.0
"""How long a transfer may take before its area is dropped."""

_Row = tuple[bytes, Value]


class Prefixes(NamedTuple):
    """The keys' prefixes of the source and the destination."""

    source: bytes
    destination: bytes

    def map(self, key: bytes) -> bytes:
        """Returns the destination of a source's key."""
        return self.destination + key[len(self.source) :]


class Source(NamedTuple):
    """A repository and the state of it that is read."""

    repository: Repository
    resolved: Resolved


class BranchChangedError(Exception):
    """The branch was committed or reset, or the source may have been collected."""


class TransferAreas:
    """Writes the areas of transfers, in pages of `page` rows, and makes them visible. `clock`
    returns seconds since 1970.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        branches: Branches,
        staging: Staging,
        objects: Objects,
        records: RecordAdmission,
        clock: Callable[[], float],
        page: int,
    ) -> None:
        self._keyvalue = keyvalue
        self._records = records
        self._branches = branches
        self._staging = staging
        self._objects = objects
        self._clock = clock
        self._page = page

    def require_free(
        self,
        repository: Repository,
        before: StoredBranch,
        source: Source,
        prefixes: Prefixes,
        *,
        remove: bool = False,
    ) -> None:
        """Raises Conflict (kind destination_exists) if the branch has an object at one of the
        destinations of a source's objects, unless the transfer itself moves that away.
        """
        sources = (key for key, _ in self._rows(source, prefixes.source))
        self._require_free(repository, before, map(prefixes.map, sources), prefixes, remove=remove)

    def require_free_for(
        self, repository: Repository, before: StoredBranch, token: str, prefixes: Prefixes
    ) -> None:
        """Raises as `require_free` does for the paths of an area."""
        destinations = (key for key, _ in self._staging.rows([token]))
        self._require_free(repository, before, destinations, prefixes, remove=False)

    def _require_free(
        self,
        repository: Repository,
        before: StoredBranch,
        destinations: Iterator[bytes],
        prefixes: Prefixes,
        *,
        remove: bool,
    ) -> None:
        view = Source(repository, branch_snapshot(before))
        existing = (
            key
            for key, _ in self._rows(view, prefixes.destination)
            if not (remove and key.startswith(prefixes.source))
        )
        taken = next(existing, None)
        if taken is None:
            return
        for destination in destinations:
            while taken is not None and taken < destination:
                taken = next(existing, None)
            if taken is None:
                return
            if taken == destination:
                raise destination_exists(decode_key(destination))

    def write(
        self,
        repository: Repository,
        token: str,
        source: Source,
        prefixes: Prefixes,
        *,
        remove: bool,
        as_stored: bool = False,
    ) -> int:
        """Writes the staging area of a transfer; returns the number of objects. The addresses of
        the entries are relative to the destination, or `as_stored` in the source. Raises
        BranchChangedError if another branch, from which they come, may have been read in part.
        """
        drop_at = self._clock() + MAX_SECONDS
        self._keyvalue.apply(schedule_drop([token], drop_at))
        rewrite = not as_stored and source.repository.storage_namespace != (
            repository.storage_namespace
        )
        overlaps = prefixes.source.startswith(prefixes.destination)
        if remove and overlaps:  # a key that is moved away may be the destination of another
            self._write_tombstones(token, source, prefixes.source)
        count = 0
        for page in self._pages(source, prefixes.source):
            writes = []
            for key, value in page:
                destination = prefixes.map(key)
                copied = _rewritten(value, source.repository, repository) if rewrite else value
                writes.append(self._staging.write(token, destination, copied))
            if remove and not overlaps:
                writes += [Write(token, key, _tombstone(key)) for key, _ in page]
            self._keyvalue.apply(writes)
            count += len(page)
        if not self.is_kept(source):
            raise BranchChangedError
        if not count:
            raise NotFound(
                f"there are no objects under {decode_key(prefixes.source)!r}",
                kind="object_not_found",
            )
        if self._clock() >= drop_at:
            raise Busy("the transfer took longer than a day")
        return count

    def is_kept(self, source: Source) -> bool:
        """Returns whether the branch of a source still has the staging areas that are read: a
        minute after a commit they are dropped, and then they seem to be empty.
        """
        if source.resolved.branch is None:
            return True
        stored = self._branches.find(source.repository, source.resolved.branch.branch.id)
        return stored is not None and set(source.resolved.tokens) <= set(stored.branch.tokens)

    def write_removal(self, token: str, source: Source, prefix: bytes) -> None:
        """Writes an area that removes the objects of a source under a prefix."""
        self._keyvalue.apply(schedule_drop([token], self._clock() + MAX_SECONDS))
        self._write_tombstones(token, source, prefix)

    def _write_tombstones(self, token: str, source: Source, prefix: bytes) -> None:
        for page in self._pages(source, prefix):
            self._keyvalue.apply([Write(token, key, _tombstone(key)) for key, _ in page])

    def insert(
        self, repository: Repository, before: StoredBranch, token: str, expect: Sequence[Expect]
    ) -> None:
        """Makes the area visible in the branch as it was when the transfer read it, beneath later
        changes. Raises BranchChangedError, and Conflict for a record of a table whose files garbage
        collection removes or has removed.
        """
        sealed = before.branch.sealed_tokens
        for stored in self._branches.attempts(repository, before.branch.id):
            tokens = stored.branch.tokens
            added = len(tokens) - len(sealed)
            if (
                stored.branch.commit_id != before.branch.commit_id
                or added < 1
                or tokens[added:] != sealed
            ):
                raise BranchChangedError
            if any(self._keyvalue.get(part, key) != value for part, key, value in expect):
                raise BranchChangedError
            changed = msgspec.structs.replace(
                stored.branch,
                staging_token=tokens[0],
                sealed_tokens=(*tokens[1:added], token, *sealed),
            )
            visible = Write(keys.CLEANUP, token.encode(), None)
            writes = [self._branches.write(repository, changed), visible]
            admitted = self._records.admit(repository, self._new_records(token))
            if self._branches.apply(repository, stored, writes, [*expect, *admitted]):
                return

    def discard(self, token: str) -> None:
        """Schedules the removal of an area that no branch names."""
        self._keyvalue.apply(schedule_drop([token], self._clock()))

    def _new_records(self, token: str) -> Iterator[RecordChange]:
        """Yields the entries of an area that may be records of tables."""
        start = encode_path(RECORDS_ROOT)
        for key, value in self._staging.changes([token], start, upper_bound(start)):
            if value is not None:
                yield RecordChange(decode_key(key), None, entry_from(value))

    def _rows(self, source: Source, prefix: bytes) -> Iterator[_Row]:
        return chain.from_iterable(self._pages(source, prefix))

    def _pages(self, source: Source, prefix: bytes) -> Iterator[Sequence[_Row]]:
        """Yields the objects under a prefix as (key, value), in order, in pages."""
        after, more = b"", True
        while more:
            listing = self._objects.listing_at(
                source.repository,
                source.resolved,
                prefix=decode_key(prefix),
                after=decode_key(after),
                amount=self._page,
            )
            page = [(key, value) for key, value in listing.rows() if value is not None]
            if page:
                yield page
                after = page[-1][0]
            more = listing.has_more


def _tombstone(key: bytes) -> bytes:
    return kernel.encode_staged(key, None)


def _rewritten(value: Value, source: Repository, destination: Repository) -> Value:
    """Returns the value of a repository's object for another repository: the address stays, but it
    may have to be written in full.
    """
    entry = entry_from(value)
    full = physical_address(source.storage_namespace, entry.address, entry.address_type)
    relative = relative_address(destination.storage_namespace, full)
    kind = AddressType.FULL if relative is None else AddressType.RELATIVE
    return entry_value(
        msgspec.structs.replace(entry, address=relative or full, address_type=int(kind))
    )


def branch_snapshot(stored: StoredBranch) -> Resolved:
    """Returns the state of a branch without its active area, which is still written to."""
    sealed = stored.branch.sealed_tokens
    if not sealed:
        return Resolved(stored.branch.commit_id)
    final = msgspec.structs.replace(
        stored.branch, staging_token=sealed[0], sealed_tokens=sealed[1:]
    )
    return Resolved(stored.branch.commit_id, StoredBranch(final, b""))
