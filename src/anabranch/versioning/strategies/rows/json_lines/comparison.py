"""The comparison of two files of JSON lines: lines joined by key, and compared member by member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.tables.sql_names import identifier
from anabranch.versioning.strategies.json_text import MISSING, parse_json, plain_json, same_json
from anabranch.versioning.strategies.rows.columns import LINE
from anabranch.versioning.strategies.rows.row_pair import RowPair

__all__ = ["JsonLinesComparison"]

_BATCH_ROWS = 100


class JsonLinesComparison:
    """The comparison of the tables `left` and `right`."""

    def __init__(self, connection: Any, key: Sequence[str]) -> None:
        self._connection = connection
        self._key = key

    def rows(self, after: Sequence[str] | None) -> Iterator[RowPair]:
        """Yields the rows that differ, in the order of their keys as JSON texts, which are greater
        than `after`. Raises Conflict for lines that are not JSON of the supported form.
        """
        keys = ", ".join(identifier(name) for name in self._key)
        line = identifier(LINE)
        # lines that are only spelled differently are left out later
        where = f"l.{line} IS DISTINCT FROM r.{line}"
        if after is not None:
            where += f" AND row({keys}) > row({', '.join('?' for _ in after)})"
        self._connection.execute(
            f'SELECT l.{line}, r.{line}, {keys} FROM "left" l '  # noqa: S608
            f'FULL JOIN "right" r USING ({keys}) WHERE {where} ORDER BY {keys}',
            list(after or ()),
        )
        while rows := self._connection.fetchmany(_BATCH_ROWS):
            for left, right, *position in rows:
                pair = self._pair(left, right, position)
                if pair is not None:
                    yield pair

    def _pair(self, left: str | None, right: str | None, position: list[str]) -> RowPair | None:
        """Returns a row, None if both sides have the same values."""
        before = None if left is None else parse_json("left", left)
        now = None if right is None else parse_json("right", right)
        names: list[str] = []
        if before is not None and now is not None:
            names = [
                name
                for name in dict.fromkeys((*now, *before))
                if not same_json(before.get(name, MISSING), now.get(name, MISSING))
            ]
            if not names:
                return None
        here: Any = before if now is None else now
        key = {name: plain_json(here[name]) for name in self._key}
        return RowPair(
            key,
            None if before is None else plain_json(before),
            None if now is None else plain_json(now),
            names,
            position,
        )
