"""The tree that the kernel writes as the merge of three."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from anabranch import _kernel as kernel
from anabranch.versioning.merging.conflicts import MergeTrees
from anabranch.versioning.merging.rules import Strategy

__all__ = ["MergedTree", "WriteMerge"]


class WriteMerge(msgspec.Struct, frozen=True):
    """Writes the merge of three trees, unless there are conflicts that no strategy decides: then it
    has the first `max_conflicts`.
    """

    trees: MergeTrees
    strategy: Strategy
    max_conflicts: int

    def write(self, folder: str, *, unsynced: bool = False) -> MergedTree:
        """Writes the tree."""
        trees = self.trees
        return MergedTree(
            trees.destination.merge(
                *(trees.source, trees.base, folder),
                strategy=self.strategy,
                max_conflicts=self.max_conflicts,
                unsynced=unsynced,
            )
        )


class MergedTree(NamedTuple):
    """A merge that was written, or whose conflicts are open: then it has no tables."""

    merged: kernel.Merged

    @property
    def metarange_id(self) -> str:
        """The tree's id."""
        return "" if self.merged.written is None else self.merged.written.metarange_id

    @property
    def tables(self) -> list[str]:
        """The ids of the new tables."""
        return [] if self.merged.written is None else self.merged.written.tables

    @property
    def unsynced(self) -> list[tuple[str, bytes]]:
        """Ids and bytes of small tables that are not durable."""
        return [] if self.merged.written is None else self.merged.written.unsynced
