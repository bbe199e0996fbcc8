"""What writes the tables of a tree into a folder, for `Trees.write`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from anabranch import _kernel as kernel
from anabranch.versioning.records.entries import Value
from anabranch.versioning.staging.area import Staging

__all__ = ["ApplyStaged", "NewTables", "TreeWriter", "WriteRecords"]

R_co = TypeVar("R_co", covariant=True)


class NewTables(Protocol):
    """A tree that was written: its id and its new tables."""

    @property
    def metarange_id(self) -> str:
        """The tree's id."""

    @property
    def tables(self) -> list[str]:
        """The ids of the new tables."""


class TreeWriter(Protocol[R_co]):
    """Writes a tree."""

    def write(self, folder: str) -> R_co:
        """Writes the new tables of a tree into a folder, and returns the tree. It may be called
        again with another folder.
        """


class WriteRecords(msgspec.Struct, frozen=True):
    """Writes sorted records as a tree, whose tables have the metadata."""

    records: Sequence[tuple[bytes, Value]]
    metadata: Mapping[str, str] = {}

    def write(self, folder: str) -> kernel.Written:
        """Writes the tree."""
        return kernel.write_tree(self.records, folder, metadata=self.metadata)


class ApplyStaged(msgspec.Struct, frozen=True):
    """Writes a tree with the changes of staging areas, newest first."""

    tree: kernel.Tree
    staging: Staging
    tokens: Sequence[str]

    def write(self, folder: str) -> kernel.Written:
        """Writes the tree; the result names the changed paths."""
        return self.tree.apply_staged(self.staging.rows(self.tokens), folder)
