"""The rules of a merge of rows, as SQL about the cells of rows that belong together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from anabranch.tables.sql_names import identifier

__all__ = ["LETTERS", "CellRules"]

LETTERS = {"base": "b", "source": "s", "destination": "d"}
"""The names of the tables in queries."""


class CellRules:
    """The rules of a merge as SQL. `numbers` are the row numbers of each table by its letter."""

    def __init__(
        self,
        has: Mapping[str, Collection[str]],
        names: Collection[str],
        numbers: Mapping[str, str],
        *,
        is_aligned: bool,
    ) -> None:
        self._has = has
        self._names = names
        self._numbers = numbers
        self._is_aligned = is_aligned

    def _at(self, side: str, name: str) -> str:
        """Returns a cell as SQL. A side that dropped the column is read as unchanged there."""
        if name not in self._has[side]:
            side = "base"
            if name not in self._has[side]:
                return "NULL"
        return (
            identifier(f"{side} {name}")
            if self._is_aligned
            else f"{LETTERS[side]}.{identifier(name)}"
        )

    def _differ(self, one: str, other: str, name: str) -> str:
        return f"{self._at(one, name)} IS DISTINCT FROM {self._at(other, name)}"

    def is_taken(self, name: str) -> str:
        """Returns as SQL whether a cell of a row that both sides have comes from the source."""
        if name not in self._names or name not in self._has["source"]:
            return "false"
        if name not in self._has["destination"]:
            return "true"
        apart = self._differ("source", "destination", name)
        unchanged = f"NOT ({self._differ('destination', 'base', name)})"
        return f"{apart} AND {self._numbers['b']} IS NOT NULL AND {unchanged}"

    def is_clashing(self, name: str) -> str:
        """Returns as SQL whether both sides changed a cell of a row that both have differently."""
        in_base = f"{self._numbers['b']} IS NOT NULL"
        theirs, ours = (self._differ(side, "base", name) for side in ("source", "destination"))
        if name not in self._names:  # one side dropped it: no value of the other may be lost
            return f"{in_base} AND ({theirs} OR {ours})"
        has = [name in self._has[side] for side in ("source", "destination")]
        if name not in self._has["base"] and not all(has):
            return "false"  # one side added it
        apart = self._differ("source", "destination", name)
        return f"{apart} AND (NOT ({in_base}) OR ({theirs} AND {ours}))"

    def is_lost(self, group: Sequence[str]) -> str:
        """Returns as SQL whether one side removed a row, and the other changed a cell of it."""

        def changed(side: str) -> str:
            return " OR ".join(self._differ(side, "base", name) for name in group) or "false"

        d, s, b = (f"{self._numbers[letter]} IS NOT NULL" for letter in "dsb")
        return (
            f"({b} AND ((NOT ({s}) AND {d} AND ({changed('destination')})) OR "
            f"(NOT ({d}) AND {s} AND ({changed('source')}))))"
        )
