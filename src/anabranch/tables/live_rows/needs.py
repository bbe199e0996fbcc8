"""Which files of a table a statement needs: those where the conditions of a scan of it may hold.

Metadata know bounds of the values in a file, not the values: a file is left out only if no value
within the bounds meets a condition. Values are compared as numbers, in the form of
`comparable_values`, or as bytes: texts are in UTF-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

__all__ = ["EVERYTHING", "ColumnCondition", "KnownValues", "Needs", "Operator", "ValueRange"]

Operator = Literal["=", "<", "<=", ">", ">="]


class KnownValues(Protocol):
    """What is known of the values of a column in a file."""

    @property
    def is_null(self) -> bool:
        """Whether there are only nulls."""

    def may_meet(self, operator: Operator, value: Any) -> bool:
        """Returns whether one of the values may meet a comparison with another value."""


class ValueRange(msgspec.Struct, frozen=True):
    """Bounds of values. `lower` and `upper` are None if they are not known; `may_have_nan` if there
    may be NaN beside them; `is_null` if there are only nulls.
    """

    lower: Any = None
    upper: Any = None
    may_have_nan: bool = False
    is_null: bool = False

    def may_meet(self, operator: Operator, value: Any) -> bool:
        """Returns whether a value within the bounds may meet a comparison with another value."""
        if isinstance(value, float) and math.isnan(value):
            return True
        lower, upper = self.lower, self.upper
        is_above = operator in ("=", ">", ">=")
        is_below = operator in ("=", "<", "<=")
        is_strict = operator in ("<", ">")
        if is_below and lower is not None and not _reaches(lower, value, is_strict=is_strict):
            return False
        if self.may_have_nan and is_above and not is_below:
            return True  # NaN is more than all numbers
        return not (
            is_above and upper is not None and not _reaches(value, upper, is_strict=is_strict)
        )


def _reaches(less: Any, more: Any, *, is_strict: bool) -> bool:
    return bool(less < more) or (not is_strict and bool(less == more))


class ColumnCondition(msgspec.Struct, frozen=True):
    """A comparison of a column with one of some values, which null does not meet."""

    column: str
    operator: Operator
    values: tuple[Any, ...]

    def may_hold(self, found: KnownValues) -> bool:
        """Returns whether one of the values that are known of may meet the condition."""
        return not found.is_null and any(
            found.may_meet(self.operator, value) for value in self.values
        )


class Needs(msgspec.Struct, frozen=True):
    """What a statement needs: for each of its scans, conditions that the rows meet which it uses.
    `only_counts` if it uses no value of any row.
    """

    scans: tuple[tuple[ColumnCondition, ...], ...]
    only_counts: bool = False

    def of(self, known_of: Callable[[str], Sequence[KnownValues]]) -> bool:
        """Returns whether a file is needed, by what is known of its columns, by their names. What
        is known in several ways has to be possible in each.
        """
        return any(all(_may_hold(each, known_of) for each in scan) for scan in self.scans)


def _may_hold(condition: ColumnCondition, known_of: Callable[[str], Sequence[KnownValues]]) -> bool:
    return all(map(condition.may_hold, known_of(condition.column)))


EVERYTHING = Needs(scans=((),))
"""All files."""
