"""Validation of a listing's rows and their conversion to the kernel's columns, for every engine.

Invalid rows are rejected and counted by reason; the first of them are kept for messages. Batches
are sorted by path, and rows with the same path by time, newest first. Only the newest row of a path
is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.names import MAX_PATH_BYTES
from anabranch.model.objects.entry import AddressType
from anabranch.pipelines.imports.listings.row_checks import RowCheck

__all__ = [
    "LEFT_OUT",
    "LISTED",
    "OPTIONAL",
    "ORDER",
    "SHOWN",
    "WRITTEN",
    "RowValidator",
    "Shown",
]

_TIME = pa.timestamp("us", "UTC")

LISTED = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("last_modified", _TIME),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("content_type", pa.string()),
    ]
)
"""The columns of a listing."""

OPTIONAL = frozenset({"checksum", "last_modified", "metadata", "content_type"})
"""Columns that may be missing."""

ORDER = (("path", "ascending"), ("last_modified", "descending"), ("physical_address", "ascending"))
"""The sort order of rows; nulls are first in ascending order, last in descending order."""

WRITTEN = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("address_type", pa.int32()),
        ("last_modified", _TIME),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("content_type", pa.string()),
    ]
)
"""The columns that the kernel writes."""

LEFT_OUT = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("last_modified", _TIME),
        ("reason", pa.string()),
    ]
)
"""The columns of a rejected row, with the reason."""

SHOWN = 10

Shown: TypeAlias = tuple[str, str]
"""The path of a rejected row, and the reason."""


class RowValidator:
    """Selects the valid rows of a listing. `prefix` is prepended to every path. `counts` has the
    number of rejected rows by reason, `shown` the first of them in the order of paths;
    `on_rejected` is called with all of them, in batches of LEFT_OUT. `checks` run one after
    another, before repeated paths are removed, so that an invalid row never replaces a valid one.
    """

    def __init__(
        self,
        prefix: str,
        on_rejected: Callable[[pa.RecordBatch], None] = lambda _: None,
        *,
        checks: Sequence[RowCheck] = (),
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.shown: list[Shown] = []
        self._prefix = prefix
        self._on_rejected = on_rejected
        self._row_checks = checks
        self._last: str | None = None

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Converts sorted batches of LISTED to batches of WRITTEN."""
        for batch in batches:
            valid = batch
            for reason, is_invalid in _CHECKS.items():
                valid = self._without(valid, is_invalid(valid, self._prefix), reason)
            for check in self._row_checks:
                valid = self._apply_check(valid, check)
            valid = self._without(valid, self._repeats_previous(valid), "a repeated path")
            if valid.num_rows:
                self._last = valid.column("path")[-1].as_py()
                yield self._to_written(valid)

    def _without(self, batch: pa.RecordBatch, invalid: Any, reason: str) -> pa.RecordBatch:
        """Returns a batch without the rows where `invalid` is true, which are rejected."""
        invalid = pc.fill_null(invalid, False)
        if not pc.any(invalid, min_count=0).as_py():
            return batch
        rejected = batch.filter(invalid)
        self.counts[reason] += rejected.num_rows
        self._reject(rejected, pa.repeat(pa.scalar(reason), rejected.num_rows))
        return batch.filter(pc.invert(invalid))

    def _apply_check(self, batch: pa.RecordBatch, check: RowCheck) -> pa.RecordBatch:
        """Returns a batch without the rows that fail a check, which are rejected."""
        batch, problems = check(batch)
        if not problems:
            return batch
        self.counts.update(problem.reason for problem in problems.values())
        numbers = sorted(problems)
        details = pa.array([problems[number].detail for number in numbers], pa.string())
        self._reject(batch.take(pa.array(numbers, pa.int64())), details)
        rejected = set(numbers)
        valid = [number for number in range(batch.num_rows) if number not in rejected]
        return batch.take(pa.array(valid, pa.int64()))

    def _reject(self, rejected: pa.RecordBatch, reasons: pa.Array) -> None:
        paths = rejected.column("path")[:SHOWN].to_pylist()
        first = zip(paths, reasons[:SHOWN].to_pylist(), strict=True)
        shown = [*self.shown, *((path or "", reason) for path, reason in first)]
        self.shown = sorted(shown)[:SHOWN]
        columns = [rejected.column(field.name).cast(field.type) for field in list(LEFT_OUT)[:-1]]
        self._on_rejected(pa.RecordBatch.from_arrays([*columns, reasons], schema=LEFT_OUT))

    def _repeats_previous(self, batch: pa.RecordBatch) -> Any:
        """Returns which rows have the path of the previous row, also across batches."""
        path = batch.column("path")
        if not len(path):
            return pa.array([], pa.bool_())
        previous = pa.concat_arrays([pa.array([self._last], path.type), path[:-1]])
        return pc.equal(path, previous)

    def _to_written(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {field.name: batch.column(field.name) for field in LISTED}
        if self._prefix:
            columns["path"] = pc.binary_join_element_wise(self._prefix, columns["path"], "")
        rows = batch.num_rows
        columns["address_type"] = pa.repeat(pa.scalar(AddressType.FULL.value, pa.int32()), rows)
        columns["last_modified"] = pc.fill_null(
            columns["last_modified"].cast(_TIME), pa.scalar(0, _TIME)
        )
        for name in ("checksum", "content_type"):
            columns[name] = pc.fill_null(columns[name], "")
        return pa.RecordBatch.from_arrays(
            [columns[field.name].cast(field.type) for field in WRITTEN], schema=WRITTEN
        )


def _lengths(batch: pa.RecordBatch, prefix: str) -> Any:
    return pc.add(pc.binary_length(batch.column("path")), len(prefix.encode()))


def _is_empty(column: pa.Array) -> Any:
    return pc.or_kleene(pc.is_null(column), pc.equal(pc.binary_length(column), 0))


_CHECKS: dict[str, Callable[[pa.RecordBatch, str], Any]] = {
    "no path": lambda batch, _: _is_empty(batch.column("path")),
    f"a path of over {MAX_PATH_BYTES} bytes": lambda batch, prefix: pc.greater(
        _lengths(batch, prefix), MAX_PATH_BYTES
    ),
    "no physical address": lambda batch, _: _is_empty(batch.column("physical_address")),
    "no size": lambda batch, _: pc.is_null(batch.column("size")),
    "a negative size": lambda batch, _: pc.less(batch.column("size"), 0),
}
