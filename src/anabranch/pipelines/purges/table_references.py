"""References to a deleted repository's data by tables of others: what records of tables lead to.

No entry has the files of a table, so the records are followed, as in garbage collection. Ids of
areas are random: an area that a table names is in the deleted repository's namespace if files of it
are there, unless its own repository has the area, too. Nothing is read as long as there are none.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import areas_folder
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.marking.table_marks import TableMarks

__all__ = ["TableReferences"]


class TableReferences:
    """The areas that tables of other repositories name in the namespace of a `purged` one. What was
    read of a commit is not read again.
    """

    def __init__(self, installation: Installation, blocks: BlockStore, purged: Repository) -> None:
        self._installation = installation
        self._blocks = blocks
        self._purged = purged
        self._marks: dict[str, TableMarks] = {}
        self._ranges: dict[str, list[kernel.RangeInfo]] = {}
        self._own: set[tuple[str, str]] = set()

    def mark_staged(self, repository: Repository) -> None:
        """Reads what staged records of a repository lead to. Raises the errors of the store."""
        if self._has(self._purged):
            self._marks_of(repository).mark_staged(repository)

    def add_ranges(self, repository: Repository, ranges: Iterable[kernel.RangeInfo]) -> None:
        """Adds ranges of a repository, whose records count."""
        self._ranges.setdefault(repository.partition, []).extend(ranges)

    def find(self, repository: Repository) -> str:
        """Returns the id of an area in the purged namespace that tables of a repository name, "" if
        there is none. Raises Gone, Corrupt.
        """
        if not self._has(self._purged):
            return ""
        marks = self._marks_of(repository)
        marks.mark_ranges(repository, self._ranges.pop(repository.partition, ()))
        for area in sorted(marks.areas()):
            key = repository.partition, area
            if key not in self._own and self._has(repository, area):
                self._own.add(key)
            if key not in self._own and self._has(self._purged, area):
                return area
        return ""

    def _marks_of(self, repository: Repository) -> TableMarks:
        marks = self._marks.get(repository.partition)
        if marks is None:
            marks = self._marks[repository.partition] = TableMarks(self._installation, repository)
        return marks

    def _has(self, repository: Repository, area: str = "") -> bool:
        """Returns whether a repository's namespace has files of an area, or of any."""
        stored = self._blocks.list(f"{areas_folder(repository)}/{area}")
        return next(iter(stored), None) is not None
