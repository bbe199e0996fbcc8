"""What choices make of the rows of tables with columns that conflict, as row numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from anabranch.model.commits.conflict import ConflictKind
from anabranch.versioning.strategies.rows.merging.row_choices import DELETE, RowChoice

__all__ = ["ChosenCells", "ChosenRows", "ConflictRow"]


class ConflictRow(NamedTuple):
    """A row in conflict: its numbers in the destination, the source and the base, None where it is
    not, and the columns of its cells that conflict, none if one side removed the row.
    """

    destination: int | None
    source: int | None
    base: int | None
    columns: Sequence[str]

    @property
    def numbers(self) -> tuple[int | None, int | None, int | None]:
        """The row numbers in the order destination, source, base."""
        return self.destination, self.source, self.base

    @property
    def kind(self) -> ConflictKind:
        """What both sides did."""
        if self.source is None:
            return "deleted_changed"
        if self.destination is None:
            return "changed_deleted"
        return "added_twice" if self.base is None else "both_changed"


class ChosenCells(NamedTuple):
    """A cell of a row of the destination that becomes that of a row of another side."""

    column: str
    destination: int
    side: Literal["source", "base"]
    row: int


class ChosenRows:
    """The decisions about rows that conflict. `has` are the columns of each side, `names` those of
    the merge.
    """

    def __init__(self, has: Mapping[str, Collection[str]], names: Sequence[str]) -> None:
        self._has = has
        self._names = names
        self.settled: list[tuple[int | None, int | None]] = []
        """The rows of the destination and the source that no longer conflict."""
        self.removed: set[int] = set()
        """Rows of the destination."""
        self.kept: set[int] = set()
        """Rows of the destination that the source removed."""
        self.added: set[int] = set()
        """Rows of the source that the destination removed."""
        self.restored: list[int] = []
        """Rows of the base that are added."""
        self.cells: list[ChosenCells] = []

    def add(self, row: ConflictRow, choice: RowChoice) -> None:
        """Adds the choice for a row. Raises Conflict for one that cannot be made."""
        if row.destination is not None and row.source is not None:
            self._add_cells(row, row.destination, row.source, choice)
        elif row.destination is not None:
            self._add_changed(row, row.destination, choice)
        elif row.source is not None:
            self._add_removed(row, row.source, choice)
        self.settled.append((row.destination, row.source))

    def _add_changed(self, row: ConflictRow, number: int, choice: RowChoice) -> None:
        """Decides about a row that the source removed and the destination changed."""
        take = choice.row()
        if take in ("source", DELETE):
            self.removed.add(number)
            return
        self.kept.add(number)
        if take == "base" and row.base is not None:
            self.cells += [ChosenCells(name, number, "base", row.base) for name in self._names]

    def _add_removed(self, row: ConflictRow, number: int, choice: RowChoice) -> None:
        """Decides about a row that the destination removed and the source changed."""
        take = choice.row()
        if take == "source":
            self.added.add(number)
        elif take == "base" and row.base is not None:
            self.restored.append(row.base)

    def _add_cells(
        self, row: ConflictRow, destination: int, source: int, choice: RowChoice
    ) -> None:
        sides = choice.cells(row.columns, has_base=row.base is not None)
        if sides is None:
            self.removed.add(destination)
            return
        for name, side in sides.items():
            if name not in self._names:
                self._require_dropped(name, side, choice)
            elif side == "source":
                self.cells.append(ChosenCells(name, destination, "source", source))
            elif side == "base" and row.base is not None:
                self.cells.append(ChosenCells(name, destination, "base", row.base))

    def _require_dropped(self, name: str, side: str, choice: RowChoice) -> None:
        """Raises Conflict unless a side is the one that dropped a column: the merge has no place
        for a value of another.
        """
        if name in self._has[side]:
            dropped = "source" if name not in self._has["source"] else "destination"
            raise choice.refuse(
                f"the {dropped} dropped the column {name!r}, so its value cannot be kept: take "
                f"{dropped} for it, or choose a side for the whole path"
            )

    def cells_of(self, side: str, group: Sequence[str]) -> Sequence[Any]:
        """Returns the cells that come from a side, in a group of columns: the rows of the
        destination in order, the rows there, and masks of the columns.
        """
        bits = {name: 1 << bit for bit, name in enumerate(group)}
        found: dict[tuple[int, int], int] = {}
        for cell in self.cells:
            if cell.side == side and cell.column in bits:
                place = cell.destination, cell.row
                found[place] = found.get(place, 0) | bits[cell.column]
        return [(*place, mask) for place, mask in sorted(found.items())]
