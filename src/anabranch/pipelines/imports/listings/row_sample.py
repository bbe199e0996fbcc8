"""Sample of a listing: a limited number of rows, selected by the hashes of their paths.

The sample has the rows with the smallest hashes. So it depends only on the listing, not on the
order of its rows or on the engine, and the samples of partitions can be merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.pipelines.column_hashes import hash_addresses

__all__ = ["SAMPLED", "SAMPLE_ROWS", "RowSample", "smallest"]

SAMPLE_ROWS = 1_000

SAMPLED = pa.schema(
    [
        ("path", pa.string()),
        ("physical_address", pa.string()),
        ("size", pa.int64()),
        ("checksum", pa.string()),
        ("hash", pa.int64()),
    ]
)
"""The columns of a sample; `hash` is the hash of the path without its lowest bit."""


class RowSample:
    """Selects up to `limit` of the rows that pass through it; 0 disables it."""

    def __init__(self, limit: int = SAMPLE_ROWS) -> None:
        self._limit = limit
        self._rows = pa.table({field.name: [] for field in SAMPLED}, schema=SAMPLED)
        self._largest = np.iinfo(np.int64).max

    def sample_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields batches, whose rows must have a path, and samples their rows."""
        for batch in batches:
            if self._limit:
                self._add(batch)
            yield batch

    def rows(self) -> pa.Table:
        """Returns the sample, a table of SAMPLED."""
        return self._rows

    def _add(self, batch: pa.RecordBatch) -> None:
        hashes = (hash_addresses(batch.column("path")) >> np.uint64(1)).astype(np.int64)
        selected = np.flatnonzero(hashes <= self._largest)
        if not len(selected):
            return
        rows = batch.select(SAMPLED.names[:-1]).take(pa.array(selected))
        added = pa.Table.from_arrays([*rows.columns, pa.array(hashes[selected])], schema=SAMPLED)
        self._rows = smallest(pa.concat_tables([self._rows, added]), self._limit)
        if len(self._rows) == self._limit:
            self._largest = self._rows["hash"][-1].as_py()


def smallest(rows: pa.Table, limit: int = SAMPLE_ROWS) -> pa.Table:
    """Returns the up to `limit` rows of a table of SAMPLED that have the smallest hashes."""
    order = pc.sort_indices(rows, sort_keys=[("hash", "ascending"), ("path", "ascending")])
    return rows.take(order[:limit]).combine_chunks()
