"""Readers of the format `anabranch`, one for each value of the option `what`.

Objects and changes are planned as by the functions `objects` and `changes`. The other results are
small: a single task reads them, page by page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch.errors import NotSupported
from anabranch.model.commit import Commit
from anabranch.model.names import decode_key
from anabranch.spark.data_source.read_options import ReadOptions, open_source
from anabranch.spark.dataframes.changes import plan_changes
from anabranch.spark.dataframes.columns import (
    CHANGES,
    COMMITS,
    COMMITS_ARROW,
    OBJECTS,
    POINTERS,
    POINTERS_ARROW,
    RANGES,
    RANGES_ARROW,
    STEPS,
)
from anabranch.spark.dataframes.objects import plan_objects
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import open_references, open_repository
from anabranch.spark.sources.references import References

__all__ = ["READERS", "DataReader"]

_BATCH_ROWS = 10_000


class DataReader(NamedTuple):
    """The schema, the planning function, and the column that `prefix` restricts, if any."""

    schema: str
    plan: Callable[[ReadOptions], Plan]
    column: str | None = None


def _objects(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        repository = open_repository(source, options.repository)
        commit = repository.references.commit(options.reference)
        pin_for_query(repository.references, [commit.id])
        return plan_objects(repository, commit, options.prefix, options.entries_per_task)


def _changes(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        repository = open_repository(source, options.repository)
        references = repository.references
        left, right = references.commit(options.left), references.commit(options.right)
        pin_for_query(references, [left.id, right.id])
        return plan_changes(repository, left, right, options.prefix, options.entries_per_task)


def _ranges(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        ranges = open_repository(source, options.repository).ranges(
            options.reference, options.prefix
        )
    partitions = [
        ranges[start : start + _BATCH_ROWS] for start in range(0, len(ranges), _BATCH_ROWS)
    ]
    return Plan(partitions, _range_rows)


def _range_rows(ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
    rows = (
        {
            "id": each.id,
            "min_path": decode_key(each.min_key),
            "max_path": decode_key(each.max_key),
            "objects": each.entries,
            "estimated_size": each.size,
        }
        for each in ranges
    )
    return _batches(rows, RANGES_ARROW)


def _commits(options: ReadOptions) -> Plan:
    return Plan([options], _commit_rows)


def _commit_rows(options: ReadOptions) -> Iterator[pa.RecordBatch]:
    with open_source(options.location) as source:
        commits = open_references(source, options.repository).log(options.reference)
        yield from _batches(map(_commit_row, commits), COMMITS_ARROW)


def _commit_row(commit: Commit) -> dict[str, Any]:
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


def _pointers(
    list_prefix: Callable[[References, str], Iterator[Any]], options: ReadOptions
) -> Plan:
    return Plan([options], partial(_pointer_rows, list_prefix))


def _pointer_rows(
    list_prefix: Callable[[References, str], Iterator[Any]], options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    with open_source(options.location) as source:
        pointers = list_prefix(open_references(source, options.repository), options.prefix)
        yield from _batches((pointer._asdict() for pointer in pointers), POINTERS_ARROW)


def _branches(references: References, prefix: str) -> Iterator[Any]:
    return references.branches(prefix)


def _tags(references: References, prefix: str) -> Iterator[Any]:
    return references.tags(prefix)


def _batches(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields rows in batches."""
    remaining = iter(rows)
    while batch := list(itertools.islice(remaining, _BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(batch, schema=schema)


def _reject_batch_query(options: ReadOptions) -> Plan:
    raise NotSupported(
        f"{options.repository}: the option branch is for streams",
        hint="Use spark.readStream, or read changes with the options left and right.",
    )


READERS = {
    "objects": DataReader(OBJECTS, _objects, "path"),
    "changes": DataReader(CHANGES, _changes, "path"),
    "commits": DataReader(COMMITS, _commits),
    "branches": DataReader(POINTERS, partial(_pointers, _branches), "id"),
    "tags": DataReader(POINTERS, partial(_pointers, _tags), "id"),
    "ranges": DataReader(RANGES, _ranges),
    "steps": DataReader(STEPS, _reject_batch_query),
}
"""The readers by the value of the option `what`."""
