"""The conditions on which garbage collection admits a change of a branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.keyvalue.contract import Expect
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import Made
from anabranch.versioning.garbage.pins import Pins
from anabranch.versioning.garbage.record_admission import RecordAdmission
from anabranch.versioning.garbage.sweeps import NONE_BEGUN, SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.garbage.tree_admission import TreeAdmission

__all__ = ["ChangeAdmission"]

T = TypeVar("T")


class ChangeAdmission:
    """Admits what a branch refers to after a change, and did not refer to before."""

    def __init__(
        self,
        pins: Pins,
        sweeps: SweepRecords,
        blocks: BlockStore,
        trees: TreeAdmission,
        swept: SweptTrees,
        records: RecordAdmission,
    ) -> None:
        self._pins = pins
        self._sweeps = sweeps
        self._blocks = blocks
        self._trees = trees
        self._swept = swept
        self._records = records

    def conditions(self, repository: Repository, head: Commit, made: Made[T]) -> Sequence[Expect]:
        """Returns the conditions of a change of a branch with this head.

        Raises Conflict or NotFound as `Pins.admit_commits` does, Conflict for an object that is
        being removed, and Gone for one that has been removed; as `RecordAdmission.admit` does for
        records of tables.
        """
        conditions: list[Expect] = []
        if made.refers_to:
            conditions += self._pins.admit_commits(repository, made.refers_to)[1]
        if made.new_content:
            conditions += self._new_content(made.new_content)
        if made.untrusted is not None:
            trees = head.metarange_id, made.commit.metarange_id
            conditions += self._trees.admit(repository, *trees, made.untrusted.since)[1]
            self._swept.require_stored(repository, made.commit.metarange_id)
        # without a condition, nothing is to be admitted
        if conditions and NONE_BEGUN not in conditions:
            trees = head.metarange_id, made.commit.metarange_id
            conditions += self._records.admit_tree(repository, *trees)
        return conditions

    def _new_content(self, addresses: Sequence[str]) -> Sequence[Expect]:
        # the store is checked after the sweeps: a sweep that begins later fails the condition
        _, conditions = self._sweeps.admit_addresses(addresses)
        for address in addresses:
            if self._blocks.stat(address) is None:
                raise Gone(
                    f"{self._blocks.qualify(address)}: there is no data",
                    kind="data_missing",
                    hint="Garbage collection may have removed this version. Choose another one.",
                )
        return conditions
