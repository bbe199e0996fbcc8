"""The merge of JSON lines: lines joined by key, and merged member by member.

A line that only one side changed is taken as it is spelled there. Where both changed it, members at
the top are merged, each as one value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

__all__ = ["JsonLinesMerge"]

_BATCH_ROWS = 1000


class JsonLinesMerge:
    """The merge of the tables `base`, `source` and `destination`, which have unique keys."""

    def __init__(self, connection: Any, key: Sequence[str]) -> None:
        self._connection = connection
        self._key = key
        self.conflicts: list[ContentConflict] = []
        """The conflicts that were found so far, at most MAX_CONFLICTS."""

    def merged(self) -> Iterator[str]:
        """Yields the lines: the destination's in their order, then those that only the source
        added. Adds to `conflicts`. Raises Conflict for lines that both sides changed, and that are
        not JSON of the supported form.
        """
        names = ", ".join(identifier(name) for name in self._key)
        line, row = identifier(LINE), identifier(ROW)
        self._connection.execute(
            f"SELECT b.{line}, s.{line}, d.{line} FROM destination d "  # noqa: S608
            f"FULL JOIN source s USING ({names}) FULL JOIN base b USING ({names}) "
            f"ORDER BY d.{row} IS NULL, d.{row}, s.{row}"
        )
        while rows := self._connection.fetchmany(_BATCH_ROWS):
            for base, source, destination in rows:
                merged = self._line(base, source, destination)
                if merged is not None:
                    yield merged

    def _line(self, base: str | None, source: str | None, destination: str | None) -> str | None:
        """Returns the merge of a line; None if it is removed, or conflicts."""
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
            self._add_conflict(values, "")
            return None
        return self._merge_members(values, destination)

    def _merge_members(self, values: Mapping[str, Any], destination: str) -> str | None:
        base = values["base"] if values["base"] is not MISSING else {}
        source, ours = values["source"], values["destination"]
        merged: dict[str, Any] = {}
        found = len(self.conflicts)
        for name in member_order(source, ours):
            was, theirs, mine = (each.get(name, MISSING) for each in (base, source, ours))
            if theirs in (was, mine):
                value = mine
            elif mine == was:
                value = theirs
            else:
                self._add_conflict(values, name)
                continue
            if value is not MISSING:
                merged[name] = value
        if len(self.conflicts) > found:
            return None
        return write_json(merged, destination)

    def _add_conflict(self, values: Mapping[str, Any], column: str) -> None:
        if len(self.conflicts) >= MAX_CONFLICTS:
            return
        present = next(value for value in values.values() if value is not MISSING)
        shown = {side: plain_json(self._part(value, column)) for side, value in values.items()}
        key = {name: plain_json(present[name]) for name in self._key}
        self.conflicts.append(ContentConflict(key=key, column=column, **shown))

    def _part(self, value: Any, column: str) -> Any:
        """Returns a member of a row, or all but its key if `column` is ""."""
        if value is MISSING:
            return value
        if column:
            return value.get(column, MISSING)
        return {name: member for name, member in value.items() if name not in self._key}
