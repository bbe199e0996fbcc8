"""What writes the tables of a tree into a folder, for `Trees.write`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from anabranch import _kernel as kernel
from anabranch.versioning.records.entries import Value
from anabranch.versioning.staging.area import Staging

__all__ = ["ApplyStaged", "NewTables", "TreeWriter", "WriteRecords", "WrittenTables"]

R_co = TypeVar("R_co", covariant=True)


class NewTables(Protocol):
    """A tree that was written: its id and its new tables."""

    @property
    def metarange_id(self) -> str:
        """The tree's id."""

    @property
    def tables(self) -> list[str]:
        """The ids of the new tables."""


class WrittenTables(NewTables, Protocol):
    """A tree whose small tables may not be synced."""

    @property
    def unsynced(self) -> Sequence[tuple[str, bytes]]:
        """Ids and bytes of small tables that are complete, but not durable."""


class TreeWriter(Protocol[R_co]):
    """Writes a tree."""

    def write(self, folder: str, *, unsynced: bool = False) -> R_co:
        """Writes the new tables of a tree into a folder, and returns the tree. It may be called
        again with another folder. With `unsynced`, the caller makes small tables durable, whose
        bytes the result has.
        """


class WriteRecords(msgspec.Struct, frozen=True):
    """Writes sorted records as a tree, whose tables have the metadata."""

    records: Sequence[tuple[bytes, Value]]
    metadata: Mapping[str, str] = {}

    def write(self, folder: str, *, unsynced: bool = False) -> kernel.Written:
        """Writes the tree."""
        return kernel.write_tree(self.records, folder, metadata=self.metadata, unsynced=unsynced)


class ApplyStaged(msgspec.Struct, frozen=True):
    """Writes a tree with the changes of staging areas, newest first."""

    tree: kernel.Tree
    staging: Staging
    tokens: Sequence[str]

    def write(self, folder: str, *, unsynced: bool = False) -> kernel.Written:
        """Writes the tree; the result names the changed paths."""
        rows = self.staging.rows(self.tokens)
        return self.tree.apply_staged(rows, folder, unsynced=unsynced)
