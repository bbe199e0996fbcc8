"""What is chosen for the rows of a table that conflict, and for their cells.

A row is found by its key as listings of conflicts show it, in the JSON form of values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.rows.table_format import failure

__all__ = ["DELETE", "MAX_CHOICES", "RowChoice", "RowChoices"]

MAX_CHOICES = 100_000
DELETE = "delete"
_SIDES = ("source", "destination", "base")
_HINT = (
    'A choice is {"key": {column: value}, "take": "source", "destination", "base" or "delete"}, '
    'or {"key": …, "cells": {column: "source", "destination" or "base"}}.'
)
_LIST_AGAIN = "List the rows in conflict again, and choose for each of them."


class RowChoice:
    """What becomes of a row in conflict: what is taken for all that conflicts in it, or the sides
    of its cells by column, if that is empty.
    """

    def __init__(self, key: Mapping[str, Any], take: str, cells: Mapping[str, str]) -> None:
        self._key = key
        self._take = take
        self._cells = cells

    def row(self, *, has_base: bool = True) -> str:
        """Returns what is taken for a row that one side removed: a side, or DELETE. Raises Conflict
        for a choice of cells.
        """
        if not self._take:
            raise self.refuse("one side removed the row: choose for it as a whole, by `take`")
        return self._side(self._take, has_base=has_base)

    def cells(self, columns: Sequence[str], *, has_base: bool) -> Mapping[str, str] | None:
        """Returns the sides of the cells that conflict, by column; None to remove the row. Raises
        Conflict for columns that do not conflict, or have no choice, and for a base that the row
        does not have.
        """
        if self._take == DELETE:
            return None
        if self._take:
            return dict.fromkeys(columns, self._side(self._take, has_base=has_base))
        for name in self._cells:
            if name not in columns:
                raise self.refuse(f"the column {name!r} is not in conflict there")
        for name in columns:
            if name not in self._cells:
                raise self.refuse(f"the column {name!r} is in conflict, too, and has no choice")
        return {name: self._side(side, has_base=has_base) for name, side in self._cells.items()}

    def _side(self, side: str, *, has_base: bool) -> str:
        if side == "base" and not has_base:
            raise self.refuse("the merge base does not have this row: choose a side, or delete it")
        return side

    def refuse(self, reason: str) -> Conflict:
        """Returns the error for a choice that cannot be made."""
        return failure(f"the choice for the row {_shown(self._key)}: {reason}", _LIST_AGAIN)


class RowChoices:
    """The choices for the rows of one table, by key."""

    def __init__(
        self, choices: Mapping[str, RowChoice], keys: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._choices = choices
        self._keys = keys
        self._found: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._choices)

    @classmethod
    def parse(cls, given: Any) -> RowChoices:
        """Returns the choices that the option `choices` has. Raises Invalid (kind
        invalid_merge_options), with the number of the choice that is wrong.
        """
        if not isinstance(given, list):
            raise _invalid("must be a list")
        if len(given) > MAX_CHOICES:
            raise _invalid(f"has {len(given)} items; at most {MAX_CHOICES} are allowed")
        choices: dict[str, RowChoice] = {}
        keys: dict[str, Mapping[str, Any]] = {}
        for number, item in enumerate(given):
            key, choice = _parse(f"[{number}]", item)
            text = _key_text(key)
            if text in choices:
                raise _invalid(f"[{number}]: the row {_shown(key)} has a choice already")
            choices[text], keys[text] = choice, key
        return cls(choices, keys)

    def find(self, key: Mapping[str, Any]) -> RowChoice | None:
        """Returns the choice for a row in conflict, which has this key. Raises Conflict if another
        row in conflict has a key that looks the same.
        """
        text = _key_text(key)
        choice = self._choices.get(text)
        if choice is not None:
            if text in self._found:
                raise choice.refuse("several rows in conflict have keys that are shown like this")
            self._found.add(text)
        return choice

    def require_found(self) -> None:
        """Raises Conflict if a choice is for a row that is not in conflict."""
        for text, key in self._keys.items():
            if text not in self._found:
                raise failure(
                    f"there is a choice for the row {_shown(key)}, which is not in conflict",
                    _LIST_AGAIN,
                )


def _parse(where: str, item: Any) -> tuple[Mapping[str, Any], RowChoice]:
    if not isinstance(item, dict):
        raise _invalid(f"{where}: must be an object")
    key, take, cells = item.get("key"), item.get("take", ""), item.get("cells", {})
    for name in item:
        if name not in ("key", "take", "cells"):
            raise _invalid(f"{where}: the field {name!r} is unknown")
    if not isinstance(key, dict) or not key:
        raise _invalid(f"{where}.key: must be an object with the columns of the key")
    if not isinstance(cells, dict):
        raise _invalid(f"{where}.cells: must be an object")
    if bool(take) == bool(cells):
        raise _invalid(f"{where}: needs either `take` or `cells`")
    if take and take not in (*_SIDES, DELETE):
        raise _invalid(f"{where}.take: must be source, destination, base or delete, not {take!r}")
    for name, side in cells.items():
        if side not in _SIDES:
            reason = f"must be source, destination or base, not {side!r}"
            raise _invalid(f"{where}.cells: the column {name!r} {reason}")
    return key, RowChoice(key, take, cells)


def _key_text(key: Mapping[str, Any]) -> str:
    """Returns a key as text. Numbers are compared by value: browsers write 1.0 as 1."""
    return json.dumps(_plain(key), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)  # integers that are shown as numbers have at most 53 bits
        except OverflowError:
            return str(value)
    return value + 0.0 if isinstance(value, float) else value  # -0.0 becomes 0.0


def _shown(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items())


def _invalid(reason: str) -> Invalid:
    return Invalid(
        f"option choices: {reason}" if not reason.startswith("[") else f"option choices{reason}",
        kind="invalid_merge_options",
        hint=_HINT,
    )
