"""Transfers: copies and moves of all objects under a prefix, without reading their bytes.

A transfer stages new entries with the addresses of the old ones. They may be millions, so they are
written in batches to a staging area that the branch does not name yet, and become visible in one
step, in which the branch's record gets that area. It is inserted beneath the areas that other
clients have written to since the transfer began: the transfer takes effect at the moment at which
it read the branch, and a later write to one of its paths is kept. If the branch was committed or
reset meanwhile, the transfer begins again.

The area of a transfer that was killed is dropped by the cleanup of staging areas, a day later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import Busy, Conflict, Invalid, NotFound, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.entry import AddressType, physical_address, relative_address
from anabranch.model.names import decode_key, encode_path
from anabranch.model.repository import Repository
from anabranch.versioning.branches import Branches, StoredBranch
from anabranch.versioning.changes import destination_exists
from anabranch.versioning.committer import Committer
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.objects import Objects
from anabranch.versioning.records import keys
from anabranch.versioning.records.entries import Value, entry_from, entry_value
from anabranch.versioning.references import References, Resolved
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard

__all__ = ["Transfers", "source_changed"]

_PAGE = 10_000
_MAX_ATTEMPTS = 5
_MAX_SECONDS = 24 * 3600.0
"""How long a transfer may take before its area is dropped."""

_Row = tuple[bytes, Value]


class _Prefixes(NamedTuple):
    """The keys' prefixes of the source and the destination."""

    source: bytes
    destination: bytes

    def map(self, key: bytes) -> bytes:
        """Returns the destination of a source's key."""
        return self.destination + key[len(self.source) :]


class _Source(NamedTuple):
    """A repository and the state of it that is read."""

    repository: Repository
    resolved: Resolved


class _BranchChangedError(Exception):
    """The branch was committed or reset, or the source may have been collected."""


class Transfers:
    """Stages transfers. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        branches: Branches,
        references: References,
        staging: Staging,
        objects: Objects,
        committer: Committer,
        sweeps: SweepRecords,
        pins: Pins,
        swept: SweptTrees,
        clock: Callable[[], float],
        *,
        page: int = _PAGE,
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._branches = branches
        self._references = references
        self._staging = staging
        self._objects = objects
        self._committer = committer
        self._sweeps = sweeps
        self._pins = pins
        self._swept = swept
        self._clock = clock
        self._page = page

    def move(
        self, repository: Repository, branch: str, source: str, destination: str, *, force: bool
    ) -> int:
        """Moves all objects under the prefix `source` of a branch to the prefix `destination`;
        returns their number.

        Raises NotFound if there are none; Invalid (kind move_into_itself) if the destination is
        under the source; Conflict (kind destination_exists) for an object that would be
        overwritten, unless `force`; and Busy if the branch is committed again and again meanwhile.
        """
        prefixes = _Prefixes(encode_path(source), encode_path(destination))
        if prefixes.destination.startswith(prefixes.source):
            raise Invalid(
                f"{source!r} cannot be moved to {destination!r}, which is under it",
                kind="move_into_itself",
            )

        return self._repeat(repository, branch, None, prefixes, remove=True, force=force)

    def copy(
        self,
        repository: Repository,
        branch: str,
        destination: str,
        *,
        source_repository: Repository,
        source_reference: str,
        source: str,
        force: bool,
    ) -> int:
        """Copies all objects under the prefix `source` of a reference to the prefix `destination`
        of a branch; returns their number. Both repositories must be in one store.

        Raises as `move` does, except that an object may be copied under its own prefix; and
        Conflict (kind sweep_under_way) for staged objects of another branch while garbage
        collection removes objects.
        """
        prefixes = _Prefixes(encode_path(source), encode_path(destination))
        if source_repository == repository and source_reference == branch:
            if prefixes.source == prefixes.destination:
                raise Invalid("the source is the destination", kind="move_into_itself")

            return self._repeat(repository, branch, None, prefixes, remove=False, force=force)

        def foreign() -> tuple[_Source, Sequence[Expect]]:
            return self._foreign(source_repository, source_reference, prefixes.source)

        return self._repeat(repository, branch, foreign, prefixes, remove=False, force=force)

    def move_from(
        self,
        repository: Repository,
        branch: str,
        destination: str,
        *,
        source_repository: Repository,
        source_branch: str,
        source: str,
        force: bool,
    ) -> int:
        """Moves all objects under the prefix `source` of another branch; returns their number. They
        are copied first and then removed from the other branch.

        Raises as `copy` does, and Conflict (kind source_changed) if the other branch was committed
        or reset meanwhile: the objects are then on both branches.
        """
        stored = self._committer.seal(source_repository, source_branch)
        snapshot = _snapshot(stored)
        prefixes = _Prefixes(encode_path(source), encode_path(destination))

        def foreign() -> tuple[_Source, Sequence[Expect]]:
            return self._foreign(source_repository, source_branch, prefixes.source, snapshot)

        count = self._repeat(repository, branch, foreign, prefixes, remove=False, force=force)
        token = self._identifiers.staging_token(source_repository.id, source_branch)
        try:
            self._keyvalue.apply(discard([token], self._clock() + _MAX_SECONDS))
            self._write_tombstones(token, _Source(source_repository, snapshot), prefixes.source)
            self._insert_area(source_repository, stored, token, ())
        except _BranchChangedError as error:
            self._discard(token)
            raise source_changed(source_branch) from error
        return count

    def _foreign(
        self,
        repository: Repository,
        reference: str,
        prefix: bytes,
        snapshot: Resolved | None = None,
    ) -> tuple[_Source, Sequence[Expect]]:
        """Returns the state at a reference of another branch, which may have been read already, and
        the conditions on which none of its objects under a prefix has been collected. Raises
        Conflict (kind commit_expired) if one has been.
        """
        sweeps, unchanged = self._sweeps.running()
        resolved = snapshot or self._references.resolve(repository, reference)
        if not sweeps:
            tree = self._objects.tree(repository, resolved.commit_id).metarange_id
            self._swept.require_stored(
                repository, tree, prefix=prefix, what=f"commit {resolved.commit_id}"
            )
            return _Source(repository, resolved), [unchanged]
        if not self._staging.is_empty(resolved.tokens):
            raise Conflict(
                f"garbage collection is removing objects, and staged ones of {reference} may be "
                "among them",
                kind="sweep_under_way",
                hint=f"Commit {reference} first, or try again when it is over.",
            )
        _, expect = self._pins.admit_commits(repository, [resolved.commit_id])
        return _Source(repository, Resolved(resolved.commit_id)), expect

    def _repeat(
        self,
        repository: Repository,
        branch: str,
        foreign: Callable[[], tuple[_Source, Sequence[Expect]]] | None,
        prefixes: _Prefixes,
        *,
        remove: bool,
        force: bool,
    ) -> int:
        """Makes a transfer to a branch, from itself or from what `foreign` returns; makes it again
        if the branch has changed meanwhile.
        """
        for _ in range(_MAX_ATTEMPTS):
            before = self._committer.seal(repository, branch)
            # what the branch refers to is not collected as long as it refers to it, which the last
            # step requires
            own: tuple[_Source, Sequence[Expect]] = _Source(repository, _snapshot(before)), ()
            source, expect = own if foreign is None else foreign()
            if not force:
                self._require_free(repository, before, source, prefixes, remove=remove)
            token = self._identifiers.staging_token(repository.id, branch)
            try:
                count = self._write_area(repository, token, source, prefixes, remove=remove)
                self._insert_area(repository, before, token, expect)
            except _BranchChangedError:
                self._discard(token)
            except OutcomeUnknown:
                raise  # the area may be visible; if it is not, it is dropped in a day
            except BaseException:
                self._discard(token)
                raise
            else:
                return count
        raise Busy(f"branch {branch} is committed or reset again and again", kind="too_many_tries")

    def _require_free(
        self,
        repository: Repository,
        before: StoredBranch,
        source: _Source,
        prefixes: _Prefixes,
        *,
        remove: bool,
    ) -> None:
        """Raises Conflict if the branch has an object at one of the destinations that the transfer
        itself does not move away.
        """
        view = _Source(repository, _snapshot(before))
        existing = (
            key
            for key, _ in self._rows(view, prefixes.destination)
            if not (remove and key.startswith(prefixes.source))
        )
        taken = next(existing, None)
        if taken is None:
            return
        for key, _ in self._rows(source, prefixes.source):
            destination = prefixes.map(key)
            while taken is not None and taken < destination:
                taken = next(existing, None)
            if taken is None:
                return
            if taken == destination:
                raise destination_exists(decode_key(destination))

    def _write_area(
        self,
        repository: Repository,
        token: str,
        source: _Source,
        prefixes: _Prefixes,
        *,
        remove: bool,
    ) -> int:
        """Writes the staging area of a transfer; returns the number of objects."""
        drop_at = self._clock() + _MAX_SECONDS
        self._keyvalue.apply(discard([token], drop_at))
        rewrite = _rewriting(source.repository, repository)
        overlaps = prefixes.source.startswith(prefixes.destination)
        if remove and overlaps:  # a key that is moved away may be the destination of another
            self._write_tombstones(token, source, prefixes.source)
        count = 0
        for page in self._pages(source, prefixes.source):
            writes = []
            for key, value in page:
                destination = prefixes.map(key)
                writes.append(self._staging.write(token, destination, rewrite(value)))
            if remove and not overlaps:
                writes += [Write(token, key, _tombstone(key)) for key, _ in page]
            self._keyvalue.apply(writes)
            count += len(page)
        if not count:
            raise NotFound(
                f"there are no objects under {decode_key(prefixes.source)!r}",
                kind="object_not_found",
            )
        if self._clock() >= drop_at:
            raise Busy("the transfer took longer than a day")
        return count

    def _write_tombstones(self, token: str, source: _Source, prefix: bytes) -> None:
        for page in self._pages(source, prefix):
            self._keyvalue.apply([Write(token, key, _tombstone(key)) for key, _ in page])

    def _insert_area(
        self, repository: Repository, before: StoredBranch, token: str, expect: Sequence[Expect]
    ) -> None:
        """Makes the area visible in the branch as it was when the transfer read it, beneath later
        changes. Raises _BranchChangedError.
        """
        sealed = before.branch.sealed_tokens

        def step(stored: StoredBranch) -> tuple[Sequence[Write], Sequence[Expect]]:
            tokens = stored.branch.tokens
            added = len(tokens) - len(sealed)
            if (
                stored.branch.commit_id != before.branch.commit_id
                or added < 1
                or tokens[added:] != sealed
            ):
                raise _BranchChangedError
            if any(self._keyvalue.get(part, key) != value for part, key, value in expect):
                raise _BranchChangedError
            changed = msgspec.structs.replace(
                stored.branch,
                staging_token=tokens[0],
                sealed_tokens=(*tokens[1:added], token, *sealed),
            )
            visible = Write(keys.CLEANUP, token.encode(), None)
            return [self._branches.write(repository, changed), visible], expect

        self._branches.update(repository, before.branch.id, step)

    def _discard(self, token: str) -> None:
        self._keyvalue.apply(discard([token], self._clock()))

    def _rows(self, source: _Source, prefix: bytes) -> Iterator[_Row]:
        return chain.from_iterable(self._pages(source, prefix))

    def _pages(self, source: _Source, prefix: bytes) -> Iterator[Sequence[_Row]]:
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


def source_changed(branch: str) -> Conflict:
    """Returns the error of a move that could not remove its source."""
    return Conflict(
        f"branch {branch} has changed while objects were copied from it: they were not removed",
        kind="source_changed",
        hint="Remove them from that branch, or repeat the move with force.",
    )


def _snapshot(stored: StoredBranch) -> Resolved:
    """Returns the state of a branch without its active area, which is still written to."""
    sealed = stored.branch.sealed_tokens
    if not sealed:
        return Resolved(stored.branch.commit_id)
    final = msgspec.structs.replace(
        stored.branch, staging_token=sealed[0], sealed_tokens=sealed[1:]
    )
    return Resolved(stored.branch.commit_id, StoredBranch(final, b""))


def _tombstone(key: bytes) -> bytes:
    return kernel.encode_staged(key, None)


def _rewriting(source: Repository, destination: Repository) -> Callable[[Value], Value]:
    """Returns a function that returns the value of a repository's object for another repository:
    the address stays, but it may have to be written in full.
    """
    if source.storage_namespace == destination.storage_namespace:
        return lambda value: value

    def rewritten(value: Value) -> Value:
        entry = entry_from(value)
        full = physical_address(source.storage_namespace, entry.address, entry.address_type)
        relative = relative_address(destination.storage_namespace, full)
        kind = AddressType.FULL if relative is None else AddressType.RELATIVE
        return entry_value(
            msgspec.structs.replace(entry, address=relative or full, address_type=int(kind))
        )

    return rewritten
