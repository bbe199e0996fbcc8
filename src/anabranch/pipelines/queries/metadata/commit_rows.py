"""Rows of `commits`: the history of a reference, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from anabranch.model.commits.commit import Commit
from anabranch.pipelines.metadata_columns import COMMITS, commit_row

__all__ = ["commit_batches"]

_BATCH_ROWS = 1000


def commit_batches(commits: Iterator[Commit], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields commits with the named columns."""
    schema = pa.schema([COMMITS.field(name) for name in columns])
    while batch := list(islice(commits, _BATCH_ROWS)):
        rows = [commit_row(commit) for commit in batch]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)
