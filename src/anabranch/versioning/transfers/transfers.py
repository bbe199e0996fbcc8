"""Transfers: copies and moves of all objects under a prefix.

A transfer stages new entries with the addresses of the old ones, or of copies of their bytes
(`entry_copies`), as its caller chooses. They may be millions, so they are written in batches to a
staging area that the branch does not name yet, and become visible in one step, in which the
branch's record gets that area (`area`). If the branch was committed or reset meanwhile, the
transfer begins again; one that has copied bytes only repeats the last step.

The area of a transfer that was killed is dropped by the cleanup of staging areas, a day later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from anabranch.errors import AnabranchError, Busy, Conflict, Invalid, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.committer import Committer
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.garbage.record_admission import RecordAdmission
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.references.references import References
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.transfers.area import (
    BranchChangedError,
    Prefixes,
    Source,
    TransferAreas,
    branch_snapshot,
)
from anabranch.versioning.transfers.entry_copies import AreaCopier, EntryCopies
from anabranch.versioning.transfers.origins import (
    BranchOrigin,
    Origin,
    OriginAdmission,
    ReferenceOrigin,
    changed_while_read,
)

__all__ = ["Transfers", "source_changed"]

_PAGE = 10_000
_MAX_ATTEMPTS = 5


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
        records: RecordAdmission,
        clock: Callable[[], float],
        *,
        page: int = _PAGE,
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._staging = staging
        self._committer = committer
        self._admission = OriginAdmission(references, staging, objects, sweeps, pins, swept)
        self._clock = clock
        self._areas = TransferAreas(keyvalue, branches, staging, objects, records, clock, page)

    def move(
        self, repository: Repository, branch: str, source: str, destination: str, *, force: bool
    ) -> int:
        """Moves all objects under the prefix `source` of a branch to the prefix `destination`;
        returns their number.

        Raises NotFound if there are none; Invalid (kind move_into_itself) if the destination is
        under the source; Conflict (kind destination_exists) for an object that would be
        overwritten, unless `force`; and Busy if the branch is committed again and again meanwhile.
        """
        prefixes = Prefixes(encode_path(source), encode_path(destination))
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
        copies: EntryCopies | None = None,
    ) -> int:
        """Copies all objects under the prefix `source` of a reference to the prefix `destination`
        of a branch; returns their number. Both repositories must be in one store. `copies` copies
        the bytes of the objects from another repository; without it, the new objects refer to
        those of the source.

        Raises as `move` does, except that an object may be copied under its own prefix; Gone for an
        object whose bytes to copy are missing; and, without `copies`, Conflict (kind
        sweep_under_way) for staged objects of another branch while garbage collection removes
        objects.
        """
        prefixes = Prefixes(encode_path(source), encode_path(destination))
        if source_repository == repository and source_reference == branch:
            if prefixes.source == prefixes.destination:
                raise Invalid("the source is the destination", kind="move_into_itself")

            return self._repeat(repository, branch, None, prefixes, remove=False, force=force)
        origin = ReferenceOrigin(self._admission, source_repository, source_reference)
        if copies is not None:
            return self._copy_bytes(repository, branch, origin, prefixes, copies, force=force)
        return self._repeat(repository, branch, origin, prefixes, remove=False, force=force)

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
        copies: EntryCopies | None = None,
    ) -> int:
        """Moves all objects under the prefix `source` of another branch; returns their number. They
        are copied first, as `copy` does, and then removed from the other branch.

        Raises as `copy` does, and Conflict (kind source_changed) if the other branch was committed
        or reset meanwhile: the objects are then on both branches, unless it happened while they
        were read.
        """
        stored = self._committer.seal(source_repository, source_branch)
        final = Source(source_repository, branch_snapshot(stored))
        prefixes = Prefixes(encode_path(source), encode_path(destination))
        origin = BranchOrigin(self._admission, self._areas, final, source_branch)
        if copies is None:
            count = self._repeat(repository, branch, origin, prefixes, remove=False, force=force)
        else:
            count = self._copy_bytes(repository, branch, origin, prefixes, copies, force=force)
        token = self._identifiers.staging_token(source_repository.id, source_branch)
        try:
            self._areas.write_removal(token, final, prefixes.source)
            self._areas.insert(source_repository, stored, token, ())
        except BranchChangedError as error:
            self._areas.discard(token)
            raise source_changed(source_branch) from error
        return count

    def _repeat(
        self,
        repository: Repository,
        branch: str,
        origin: Origin | None,
        prefixes: Prefixes,
        *,
        remove: bool,
        force: bool,
    ) -> int:
        """Makes a transfer to a branch, from itself or from `origin`; makes it again if the branch
        has changed meanwhile.
        """
        for _ in range(_MAX_ATTEMPTS):
            before = self._committer.seal(repository, branch)
            # what the branch refers to is not collected as long as it refers to it, which the last
            # step requires
            own: tuple[Source, Sequence[Expect]] = Source(repository, branch_snapshot(before)), ()
            source, expect = own if origin is None else origin.admit(prefixes.source)
            if not force:
                self._areas.require_free(repository, before, source, prefixes, remove=remove)
            token = self._identifiers.staging_token(repository.id, branch)
            try:
                count = self._areas.write(repository, token, source, prefixes, remove=remove)
                self._areas.insert(repository, before, token, expect)
            except BranchChangedError:
                self._areas.discard(token)
            except OutcomeUnknown:
                raise  # the area may be visible; if it is not, it is dropped in a day
            except BaseException:
                self._areas.discard(token)
                raise
            else:
                return count
        raise _too_many_tries(branch)

    def _copy_bytes(
        self,
        repository: Repository,
        branch: str,
        origin: Origin,
        prefixes: Prefixes,
        copies: EntryCopies,
        *,
        force: bool,
    ) -> int:
        """Makes a transfer from another repository whose objects get bytes of their own. It takes
        effect when these are copied: only then is the branch read that gets them. Nothing depends
        on the bytes of the source afterwards, so that garbage collection may remove them.
        """
        source, token, count = self._read(repository, branch, origin, prefixes, force=force)
        copier = AreaCopier(
            *(self._keyvalue, self._staging, copies, self._clock),
            source=source.repository,
            destination=repository,
            token=token,
        )
        try:
            copier.run()
            self._insert_copies(repository, branch, token, prefixes, force=force)
        except OutcomeUnknown:
            raise  # the area may be visible
        except BaseException:
            with suppress(AnabranchError):  # garbage collection removes what stays
                copier.discard()
            self._areas.discard(token)
            raise
        return count

    def _read(
        self,
        repository: Repository,
        branch: str,
        origin: Origin,
        prefixes: Prefixes,
        *,
        force: bool,
    ) -> tuple[Source, str, int]:
        """Writes the entries of a source into an area, as they are; returns the state that was
        read, the area and the number of objects.
        """
        for _ in range(_MAX_ATTEMPTS):
            source = origin.read()
            self._admission.require_stored(source, prefixes.source)
            before = self._committer.seal(repository, branch)
            if not force:  # before bytes are copied in vain
                self._areas.require_free(repository, before, source, prefixes)
            token = self._identifiers.staging_token(repository.id, branch)
            try:
                count = self._areas.write(
                    repository, token, source, prefixes, remove=False, as_stored=True
                )
            except BranchChangedError:
                self._areas.discard(token)
            except BaseException:
                self._areas.discard(token)
                raise
            else:
                return source, token, count
        raise changed_while_read("of the source")

    def _insert_copies(
        self, repository: Repository, branch: str, token: str, prefixes: Prefixes, *, force: bool
    ) -> None:
        """Makes a complete area visible in a branch as it is now."""
        for _ in range(_MAX_ATTEMPTS):
            before = self._committer.seal(repository, branch)
            if not force:
                self._areas.require_free_for(repository, before, token, prefixes)
            try:
                self._areas.insert(repository, before, token, ())
            except BranchChangedError:
                continue
            return
        raise _too_many_tries(branch)


def _too_many_tries(branch: str) -> Busy:
    return Busy(f"branch {branch} is committed or reset again and again", kind="too_many_tries")


def source_changed(branch: str) -> Conflict:
    """Returns the error of a move that could not remove its source."""
    return Conflict(
        f"branch {branch} has changed while objects were copied from it: they were not removed",
        kind="source_changed",
        hint="Remove them from that branch, or repeat the move with force.",
    )
