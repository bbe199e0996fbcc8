"""Listings: rows of what to import, made fit for tables batch by batch, for every engine.

A row that can be no object of a branch is left out and counted, with the reason; the first are
shown. Batches come sorted by path, the newest first where one comes twice, so that of such a path
all rows but the first are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.entry import AddressType
from anabranch.model.names import MAX_PATH_BYTES

__all__ = [
    "LEFT_OUT",
    "LISTED",
    "OPTIONAL",
    "ORDER",
    "SHOWN",
    "WRITTEN",
    "Fitting",
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
"""What a listing has."""

OPTIONAL = frozenset({"checksum", "last_modified", "metadata", "content_type"})
"""Columns that need not be there."""

ORDER = (("path", "ascending"), ("last_modified", "descending"), ("physical_address", "ascending"))
"""How rows are sorted; nothing comes first where it ascends, last where it descends."""

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
"""What the kernel writes."""

LEFT_OUT = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("last_modified", _TIME),
        ("reason", pa.string()),
    ]
)
"""A row that was left out, and why."""

SHOWN = 10

Shown: TypeAlias = tuple[str, str]
"""A path and why it was left out."""


class Fitting:
    """Takes the rows that can be entries. `prefix` comes before every path; `counts` are those
    left out, by reason, and `shown` the first of them, in the order of paths. `told` hears of all
    of them, in batches of LEFT_OUT.
    """

    def __init__(
        self, prefix: str, told: Callable[[pa.RecordBatch], None] = lambda _: None
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.shown: list[Shown] = []
        self._prefix = prefix
        self._told = told
        self._last: str | None = None

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields what the kernel writes, of batches of LISTED in their order."""
        for batch in batches:
            fit = batch
            for reason, wrong in _CHECKS.items():
                fit = self._without(fit, wrong(fit, self._prefix), reason)
            fit = self._without(fit, self._repeated(fit), "a path that came before")
            if fit.num_rows:
                self._last = fit.column("path")[-1].as_py()
                yield self._written(fit)

    def _without(self, batch: pa.RecordBatch, wrong: Any, reason: str) -> pa.RecordBatch:
        """Returns a batch without the rows that are wrong, which are counted."""
        wrong = pc.fill_null(wrong, False)
        if not pc.any(wrong, min_count=0).as_py():
            return batch
        left = batch.filter(wrong)
        self.counts[reason] += left.num_rows
        paths = left.column("path")[:SHOWN].to_pylist()
        self.shown = sorted([*self.shown, *((path or "", reason) for path in paths)])[:SHOWN]
        columns = [left.column(field.name).cast(field.type) for field in list(LEFT_OUT)[:-1]]
        reasons = pa.repeat(pa.scalar(reason), left.num_rows)
        self._told(pa.RecordBatch.from_arrays([*columns, reasons], schema=LEFT_OUT))
        return batch.filter(pc.invert(wrong))

    def _repeated(self, batch: pa.RecordBatch) -> Any:
        """Returns which rows have the path of the row before, that of the last batch included."""
        path = batch.column("path")
        if not len(path):
            return pa.array([], pa.bool_())
        before = pa.concat_arrays([pa.array([self._last], path.type), path[:-1]])
        return pc.equal(path, before)

    def _written(self, batch: pa.RecordBatch) -> pa.RecordBatch:
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


def _nothing(column: pa.Array) -> Any:
    return pc.or_kleene(pc.is_null(column), pc.equal(pc.binary_length(column), 0))


_CHECKS: dict[str, Callable[[pa.RecordBatch, str], Any]] = {
    "no path": lambda batch, _: _nothing(batch.column("path")),
    f"a path of over {MAX_PATH_BYTES} bytes": lambda batch, prefix: pc.greater(
        _lengths(batch, prefix), MAX_PATH_BYTES
    ),
    "no physical address": lambda batch, _: _nothing(batch.column("physical_address")),
    "no size": lambda batch, _: pc.is_null(batch.column("size")),
    "a negative size": lambda batch, _: pc.less(batch.column("size"), 0),
}
