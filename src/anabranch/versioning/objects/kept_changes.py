"""What a reset of a prefix or of one object throws away, kept by an operation of the log.

The changes move from the branch to a staging area of the operation, batch by batch: each batch is
one write, on condition that the operation is still as the first batch has recorded it. The cost is
bounded: a reset of more than MAX_KEPT changes keeps none, and its operation cannot be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import BranchChanged
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.operations.logging_store import LoggingStore
from anabranch.versioning.operations.record import LOG
from anabranch.versioning.staging.area import Row
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["MAX_KEPT", "KeptChanges"]

MAX_KEPT = 100_000
"""How many changes the reset of a prefix keeps at most."""


class KeptChanges:
    """The changes that one reset throws away. `given_up_at` is when it was found that they are too
    many, in seconds since 1970, or 0.
    """

    def __init__(
        self,
        keyvalue: LoggingStore,
        identifiers: Identifiers,
        repository: Repository,
        given_up_at: float,
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._repository = repository
        self._given_up_at = given_up_at
        self._begun: _Begun | None = None

    def moved(self, branch: Branch, rows: Sequence[Row], instead: Sequence[Write]) -> ExtraWrites:
        """Returns the writes that keep rows of a branch, and the condition on which they can be
        made. `instead` are the committed values that are staged where a change was sealed.
        """
        writes: list[Write] = []
        conditions: list[Expect] = []
        begun = self._begun
        if begun is not None and self._goes_on(branch, begun):
            conditions.append(begun.record)
        else:
            begun, writes = self._begin(branch)
        if begun.change.discarded:
            kept, overlays = begun.change.discarded
            writes += [Write(kept, key, raw) for key, raw in rows]
            writes += [Write(overlays, each.key, each.value) for each in instead]
        return writes, conditions

    def _goes_on(self, branch: Branch, begun: _Begun) -> bool:
        found = self._keyvalue.get(begun.record.partition, begun.record.key)
        return begun.change.before == branch and found == begun.record.value

    def _begin(self, branch: Branch) -> tuple[_Begun, list[Write]]:
        """Returns an operation, to which the next batches belong, too, and its writes."""
        name = self._repository.id, branch.id
        areas = () if self._given_up_at else (name, name)
        discarded = tuple(self._identifiers.staging_token(*each) for each in areas)
        change = BranchChanged(branch, branch, discarded)
        partition = self._repository.partition
        writes = self._keyvalue.recorded(partition, change, given_up_at=self._given_up_at)
        record = next(Expect(*each) for each in writes if each.key.startswith(LOG))
        self._begun = _Begun(change, record)
        return self._begun, writes


class _Begun(NamedTuple):
    """The change of an operation, and its record as it was written."""

    change: BranchChanged
    record: Expect
