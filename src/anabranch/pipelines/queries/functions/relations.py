"""Relations whose rows are read when DuckDB scans them: only the columns that it needs, and, where
the source can, only rows that meet its conditions.

DuckDB reads Arrow datasets so: each scan of a plan calls `Dataset.scanner` with the columns and the
filter that its optimizer has pushed down, and expects that rows outside of the filter are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset

from anabranch.pipelines.queries.functions.conditions import Condition, conditions_in

__all__ = ["ReadRows", "Relation"]

ReadRows = Callable[[Sequence[str], Sequence[Condition]], Iterable[pa.RecordBatch]]
"""Yields batches with the named columns, in this order. Rows that do not meet all conditions may be
left out."""


class Relation(pyarrow.dataset.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A relation with a schema, whose rows `read` yields anew for each scan. `conditions` are those
    that all rows meet which the next statement uses, beside what its scans ask for.
    """

    def __init__(self, schema: pa.Schema, read: ReadRows) -> None:
        self._schema = schema
        self._read = read
        self.conditions: Sequence[Condition] = ()

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None) -> _Scan:
        """Returns a scan of some columns, among which are those of the filter."""
        names = self._schema.names if columns is None else list(columns)
        schema = pa.schema([self._schema.field(name) for name in names])
        pushed_down = [] if filter is None else conditions_in(filter)
        read = partial(self._read, names, [*pushed_down, *self.conditions])
        return _Scan(schema, read, filter)


class _Scan:
    def __init__(
        self, schema: pa.Schema, read: Callable[[], Iterable[pa.RecordBatch]], expression: Any
    ) -> None:
        self._schema = schema
        self._read = read
        self._expression = expression

    def to_reader(self) -> pa.RecordBatchReader:
        """Returns the rows of the scan as a stream."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        expression = self._expression
        for batch in self._read():
            kept = batch if expression is None else batch.filter(expression)
            if kept.num_rows:
                yield kept
