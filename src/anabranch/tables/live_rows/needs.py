"""Which files of a table a statement needs: those where the conditions of a scan of it may hold.

Metadata know bounds of the values in a file, not the values: a file is left out only if no value
within the bounds meets a condition. Values are compared as numbers or bytes: days and microseconds
(or nanoseconds) since 1970, decimals without their point, texts in UTF-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import msgspec

__all__ = ["EVERYTHING", "ColumnCondition", "Needs", "Operator", "ValueRange"]

Operator = Literal["=", "<", "<=", ">", ">="]


class ValueRange(msgspec.Struct, frozen=True):
    """What is known of the values of a column in a file. `lower` and `upper` are None if they are
    not known; `may_have_nan` if there may be NaN beside them; `is_null` if there are only nulls.
    """

    lower: Any = None
    upper: Any = None
    may_have_nan: bool = False
    is_null: bool = False


class ColumnCondition(msgspec.Struct, frozen=True):
    """A comparison of a column with one of some values, which null does not meet."""

    column: str
    operator: Operator
    values: tuple[Any, ...]

    def may_hold(self, found: ValueRange) -> bool:
        """Returns whether a value in a range may meet the condition."""
        return not found.is_null and any(self._may_hold(value, found) for value in self.values)

    def _may_hold(self, value: Any, found: ValueRange) -> bool:
        if isinstance(value, float) and math.isnan(value):
            return True
        lower, upper = found.lower, found.upper
        is_above = self.operator in ("=", ">", ">=")
        is_below = self.operator in ("=", "<", "<=")
        if is_below and lower is not None and not self._reaches(lower < value, lower == value):
            return False
        if found.may_have_nan and is_above and not is_below:
            return True  # NaN is more than all numbers
        return not (
            is_above and upper is not None and not self._reaches(upper > value, upper == value)
        )

    def _reaches(self, is_beyond: bool, is_equal: bool) -> bool:
        return is_beyond or (is_equal and self.operator not in ("<", ">"))


class Needs(msgspec.Struct, frozen=True):
    """What a statement needs: for each of its scans, conditions that the rows meet which it uses.
    `only_counts` if it uses no value of any row.
    """

    scans: tuple[tuple[ColumnCondition, ...], ...]
    only_counts: bool = False

    def of(self, range_of: Callable[[str], ValueRange | None]) -> bool:
        """Returns whether a file is needed, by what is known of its columns, by their names."""
        return any(all(_may_hold(each, range_of) for each in scan) for scan in self.scans)


def _may_hold(condition: ColumnCondition, range_of: Callable[[str], ValueRange | None]) -> bool:
    found = range_of(condition.column)
    return found is None or condition.may_hold(found)


EVERYTHING = Needs(scans=((),))
"""All files."""
