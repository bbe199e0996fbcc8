"""Checks of a listing's rows that need a store; every engine runs them on each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import pyarrow as pa

__all__ = ["Checked", "Problem", "RowCheck"]


class Problem(NamedTuple):
    """Why a row is invalid: the `reason`, a noun phrase by which invalid rows are counted, and the
    `detail` of this row.
    """

    reason: str
    detail: str


class Checked(NamedTuple):
    """A batch to write, and the problems of its rows by row number."""

    batch: pa.RecordBatch
    problems: Mapping[int, Problem]


RowCheck: TypeAlias = Callable[[pa.RecordBatch], Checked]
"""Checks a batch of LISTED whose rows have a path, an address and a size."""
