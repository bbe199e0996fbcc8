"""The merge of JSON lines: lines joined by key, and merged member by member.

A line that only one side changed is taken as it is spelled there. Where both changed it, members at
the top are merged, each as one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.model.commits.conflict import ConflictKind
from anabranch.model.commits.row_conflict import RowConflict
from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.json_text import (
    MISSING,
    member_order,
    parse_json,
    plain_json,
    write_json,
)
from anabranch.versioning.strategies.rows.columns import LINE, ROW
from anabranch.versioning.strategies.rows.merging.cell_conflicts import MAX_CONFLICTS
from anabranch.versioning.strategies.rows.merging.row_choices import DELETE, RowChoices

__all__ = ["JsonLinesMerge"]

_BATCH_ROWS = 1000


class _Clash:
    """A line in conflict: the texts and values of the three sides, and the members that conflict,
    none if one side removed the line. `merged` are the others.
    """

    def __init__(
        self,
        texts: Mapping[str, str | None],
        values: Mapping[str, Any],
        columns: Sequence[str] = (),
        merged: Mapping[str, Any] | None = None,
    ) -> None:
        self.texts = texts
        self.values = values
        self.columns = columns
        self.merged = merged or {}

    @property
    def kind(self) -> ConflictKind:
        """What both sides did."""
        if self.texts["source"] is None:
            return "deleted_changed"
        if self.texts["destination"] is None:
            return "changed_deleted"
        return "added_twice" if self.texts["base"] is None else "both_changed"

    def key(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns the key as it is shown."""
        order = ("destination", "source", "base")
        present = next(self.values[side] for side in order if self.values[side] is not MISSING)
        return {name: plain_json(present[name]) for name in names}


class JsonLinesMerge:
    """The merge of the tables `base`, `source` and `destination`, which have unique keys. Lines in
    conflict are settled by `choices`.
    """

    def __init__(self, connection: Any, key: Sequence[str], choices: RowChoices) -> None:
        self._connection = connection
        self._key = key
        self._choices = choices
        self.conflicts: list[ContentConflict] = []
        """The conflicts that were found so far, at most MAX_CONFLICTS."""

    def merged(self) -> Iterator[str]:
        """Yields the lines: the destination's in their order, then those that only the source
        added. Adds to `conflicts`. Raises Conflict for lines that both sides changed, and that are
        not JSON of the supported form, and for choices that cannot be made.
        """
        for line in self._lines():
            merged = self._settle(line) if isinstance(line, _Clash) else line
            if merged is not None:
                yield merged
        self._choices.require_found()

    def conflict_rows(self) -> Iterator[RowConflict]:
        """Yields the lines in conflict, in the order of `merged`. Raises Conflict as it does."""
        for line in self._lines():
            if isinstance(line, _Clash):
                shown = {
                    side: None if value is MISSING else plain_json(value)
                    for side, value in line.values.items()
                }
                yield RowConflict(
                    key=line.key(self._key), kind=line.kind, columns=list(line.columns), **shown
                )

    def _lines(self) -> Iterator[str | _Clash | None]:
        """Yields the merge of each line; None for one that is removed."""
        names = ", ".join(identifier(name) for name in self._key)
        line, row = identifier(LINE), identifier(ROW)
        self._connection.execute(
            f"SELECT b.{line}, s.{line}, d.{line} FROM destination d "  # noqa: S608
            f"FULL JOIN source s USING ({names}) FULL JOIN base b USING ({names}) "
            f"ORDER BY d.{row} IS NULL, d.{row}, s.{row}"
        )
        while rows := self._connection.fetchmany(_BATCH_ROWS):
            for base, source, destination in rows:
                yield self._line(base, source, destination)

    def _line(
        self, base: str | None, source: str | None, destination: str | None
    ) -> str | _Clash | None:
        if source in (base, destination):
            return destination
        if destination == base:
            return source
        sides = {"base": base, "source": source, "destination": destination}
        values = {
            side: MISSING if text is None else parse_json(side, text)
            for side, text in sides.items()
        }
        # the same values may be spelled differently
        if values["source"] in (values["base"], values["destination"]):
            return destination
        if values["destination"] == values["base"]:
            return source
        if source is None or destination is None:
            return _Clash(sides, values)
        return self._merge_members(sides, values, destination)

    def _merge_members(
        self, texts: Mapping[str, str | None], values: Mapping[str, Any], destination: str
    ) -> str | _Clash:
        base = values["base"] if values["base"] is not MISSING else {}
        source, ours = values["source"], values["destination"]
        merged: dict[str, Any] = {}
        clashing: list[str] = []
        for name in member_order(source, ours):
            was, theirs, mine = (each.get(name, MISSING) for each in (base, source, ours))
            value = mine
            if theirs not in (was, mine):
                value = theirs
                if mine != was:
                    clashing.append(name)
            merged[name] = value  # a place in the order, whatever is chosen
        if clashing:
            return _Clash(texts, values, clashing, merged)
        return _written(merged, destination)

    def _settle(self, clash: _Clash) -> str | None:
        """Returns what a line in conflict becomes by its choice; None if it is removed, or stays in
        conflict.
        """
        choice = self._choices.find(clash.key(self._key))
        if choice is None:
            for name in clash.columns or [""]:
                self._add_conflict(clash, name)
            return None
        if not clash.columns:
            take = choice.row()
            return None if take == DELETE else clash.texts[take]
        sides = choice.cells(clash.columns, has_base=clash.texts["base"] is not None)
        destination = clash.texts["destination"]
        if sides is None or destination is None:
            return None
        chosen = {name: clash.values[side].get(name, MISSING) for name, side in sides.items()}
        return _written({**clash.merged, **chosen}, destination)

    def _add_conflict(self, clash: _Clash, column: str) -> None:
        if len(self.conflicts) >= MAX_CONFLICTS:
            return
        shown = {side: plain_json(self._part(each, column)) for side, each in clash.values.items()}
        self.conflicts.append(ContentConflict(key=clash.key(self._key), column=column, **shown))

    def _part(self, value: Any, column: str) -> Any:
        """Returns a member of a row, or all but its key if `column` is ""."""
        if value is MISSING:
            return value
        if column:
            return value.get(column, MISSING)
        return {name: member for name, member in value.items() if name not in self._key}


def _written(members: Mapping[str, Any], like: str) -> str:
    """Returns a line with members, spelled like another."""
    return write_json({name: each for name, each in members.items() if each is not MISSING}, like)
