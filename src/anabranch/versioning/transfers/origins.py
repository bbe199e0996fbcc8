"""Where the objects of a transfer come from, if not from the branch itself.

An origin is read anew for each attempt: a reference may have moved, a branch may have dropped the
staging areas that were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from anabranch.errors import Conflict
from anabranch.keyvalue.contract import Expect
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.references.references import References, Resolved
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.transfers.area import Source, TransferAreas

__all__ = ["BranchOrigin", "Origin", "OriginAdmission", "ReferenceOrigin", "changed_while_read"]


class OriginAdmission:
    """Admits references of a branch to the objects of another one."""

    def __init__(
        self,
        references: References,
        staging: Staging,
        objects: Objects,
        sweeps: SweepRecords,
        pins: Pins,
        swept: SweptTrees,
    ) -> None:
        self.references = references
        self._staging = staging
        self._objects = objects
        self._sweeps = sweeps
        self._pins = pins
        self._swept = swept

    def require_stored(self, source: Source, prefix: bytes) -> None:
        """Raises Conflict (kind commit_expired) if an object of a state's commit under a prefix has
        been collected.
        """
        commit_id = source.resolved.commit_id
        tree = self._objects.tree(source.repository, commit_id).metarange_id
        self._swept.require_stored(
            source.repository, tree, prefix=prefix, what=f"commit {commit_id}"
        )

    def admit(
        self, repository: Repository, reference: str, prefix: bytes, known: Resolved | None = None
    ) -> tuple[Source, Sequence[Expect]]:
        """Returns the state at a reference, which may be `known` already, and the conditions on
        which none of its objects under a prefix has been collected.

        Raises Conflict: kind commit_expired if one has been, kind sweep_under_way for staged ones
        while a sweep runs.
        """
        sweeps, unchanged = self._sweeps.running()
        resolved = known or self.references.resolve(repository, reference)
        if not sweeps:
            source = Source(repository, resolved)
            self.require_stored(source, prefix)
            return source, [unchanged]
        if not self._staging.is_empty(resolved.tokens):
            raise Conflict(
                f"garbage collection is removing objects, and staged ones of {reference} may be "
                "among them",
                kind="sweep_under_way",
                hint=f"Commit {reference} first, or try again when it is over.",
            )
        _, expect = self._pins.admit_commits(repository, [resolved.commit_id])
        return Source(repository, Resolved(resolved.commit_id)), expect


class Origin(Protocol):
    """Where objects come from."""

    def read(self) -> Source:
        """Returns the present state."""

    def admit(self, prefix: bytes) -> tuple[Source, Sequence[Expect]]:
        """Returns the present state, and the conditions on which a branch may refer to its objects
        under a prefix. Raises as `OriginAdmission.admit` does.
        """


class ReferenceOrigin(msgspec.Struct, frozen=True):
    """A reference, at what it refers to in each attempt."""

    admission: OriginAdmission
    repository: Repository
    reference: str

    def read(self) -> Source:
        """Returns the present state."""
        resolved = self.admission.references.resolve(self.repository, self.reference)
        return Source(self.repository, resolved)

    def admit(self, prefix: bytes) -> tuple[Source, Sequence[Expect]]:
        """Returns the present state and its conditions."""
        return self.admission.admit(self.repository, self.reference, prefix)


class BranchOrigin(msgspec.Struct, frozen=True):
    """A branch, as it was when the transfer began."""

    admission: OriginAdmission
    areas: TransferAreas
    source: Source
    branch: str

    def read(self) -> Source:
        """Returns the state. Raises Conflict (kind source_changed) if it cannot be read whole any
        more.
        """
        if not self.areas.is_kept(self.source):
            raise changed_while_read(self.branch)
        return self.source

    def admit(self, prefix: bytes) -> tuple[Source, Sequence[Expect]]:
        """Returns the state and its conditions. Raises as `read` does, too."""
        source = self.read()
        return self.admission.admit(source.repository, self.branch, prefix, source.resolved)


def changed_while_read(branch: str) -> Conflict:
    """Returns the error of a transfer from a branch that was changed before it was read whole."""
    return Conflict(
        f"branch {branch} was committed or reset while its objects were read: nothing was changed",
        kind="source_changed",
        hint="Try again, or copy from a commit.",
    )
