"""Listings: what to import, as a DataFrame, made fit for tables batch by batch.

A row that can be no object of a branch is left out and counted, with the reason; the first of each
task are shown. Batches come sorted by path, so that of a path that comes twice the second is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.entry import AddressType
from anabranch.model.names import MAX_PATH_BYTES

__all__ = ["COLUMNS", "OPTIONAL", "SHOWN", "WRITTEN_ARROW", "Fitting"]

COLUMNS = {
    "path": "STRING",
    "physical_address": "STRING",
    "size": "BIGINT",
    "checksum": "STRING",
    "last_modified": "TIMESTAMP",
    "metadata": "MAP<STRING, STRING>",
    "content_type": "STRING",
}
"""What a listing has, in Spark's types."""

OPTIONAL = frozenset({"checksum", "last_modified", "metadata", "content_type"})

WRITTEN_ARROW = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("address_type", pa.int32()),
        ("last_modified", pa.timestamp("us", "UTC")),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("content_type", pa.string()),
    ]
)
"""What the kernel writes."""

SHOWN = 10


class Fitting:
    """Takes the rows that can be entries. `prefix` comes before every path; `counts` are those
    left out, by reason, and `shown` the first of them: (path, reason).
    """

    def __init__(self, prefix: str) -> None:
        self.counts: Counter[str] = Counter()
        self.shown: list[tuple[str, str]] = []
        self._prefix = prefix
        self._last: str | None = None

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields what the kernel writes, of batches of a listing that are sorted by path."""
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
        number = pc.sum(wrong).as_py() or 0
        if not number:
            return batch
        self.counts[reason] += number
        left = SHOWN - len(self.shown)
        if left > 0:
            paths = batch.column("path").filter(wrong)[:left].to_pylist()
            self.shown += [(path or "", reason) for path in paths]
        return batch.filter(pc.invert(wrong))

    def _repeated(self, batch: pa.RecordBatch) -> Any:
        """Returns which rows have the path of the row before, that of the last batch included."""
        path = batch.column("path")
        if not len(path):
            return pa.array([], pa.bool_())
        before = pa.concat_arrays([pa.array([self._last], path.type), path[:-1]])
        return pc.equal(path, before)

    def _written(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = {name: batch.column(name) for name in COLUMNS}
        if self._prefix:
            columns["path"] = pc.binary_join_element_wise(self._prefix, columns["path"], "")
        rows = batch.num_rows
        columns["address_type"] = pa.repeat(pa.scalar(AddressType.FULL.value, pa.int32()), rows)
        columns["last_modified"] = pc.fill_null(
            columns["last_modified"].cast(pa.timestamp("us", "UTC")),
            pa.scalar(0, pa.timestamp("us", "UTC")),
        )
        for name in ("checksum", "content_type"):
            columns[name] = pc.fill_null(columns[name], "")
        return pa.RecordBatch.from_arrays(
            [columns[field.name].cast(field.type) for field in WRITTEN_ARROW], schema=WRITTEN_ARROW
        )


def _lengths(batch: pa.RecordBatch, prefix: str) -> Any:
    return pc.add(pc.binary_length(batch.column("path")), len(prefix.encode()))


def _nothing(column: pa.Array) -> Any:
    return pc.or_kleene(pc.is_null(column), pc.equal(column, ""))


_CHECKS: dict[str, Callable[[pa.RecordBatch, str], Any]] = {
    "no path": lambda batch, _: _nothing(batch.column("path")),
    f"a path of over {MAX_PATH_BYTES} bytes": lambda batch, prefix: pc.greater(
        _lengths(batch, prefix), MAX_PATH_BYTES
    ),
    "no physical address": lambda batch, _: _nothing(batch.column("physical_address")),
    "no size": lambda batch, _: pc.is_null(batch.column("size")),
    "a negative size": lambda batch, _: pc.less(batch.column("size"), 0),
}
