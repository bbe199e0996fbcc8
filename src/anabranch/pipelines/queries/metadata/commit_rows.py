"""Rows of `commits`: the history of a reference, the newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from anabranch.model.commit import Commit
from anabranch.pipelines.metadata_columns import COMMITS

__all__ = ["commit_batches"]

_BATCH_ROWS = 1000


def commit_batches(commits: Iterator[Commit], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields commits with the named columns."""
    schema = pa.schema([COMMITS.field(name) for name in columns])
    while batch := list(islice(commits, _BATCH_ROWS)):
        rows = [_row(commit) for commit in batch]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _row(commit: Commit) -> dict[str, object]:
    return {
        "id": commit.id,
        "message": commit.message,
        "committer": commit.committer,
        "creation_date": commit.creation_date * 1_000_000,
        "parents": list(commit.parents),
        "metadata": list(commit.metadata.items()),
        "metarange_id": commit.metarange_id,
        "generation": commit.generation,
    }
