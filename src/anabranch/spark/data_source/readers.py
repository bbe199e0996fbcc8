"""Readers of the format `anabranch`, one for each value of the option `what`.

Objects and changes are planned as by the functions `objects` and `changes`. The other results are
small: a single task reads them, page by page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from anabranch.errors import NotSupported
from anabranch.model.names import decode_key
from anabranch.pipelines.metadata_columns import commit_row
from anabranch.spark.data_source.read_options import ReadOptions, open_source
from anabranch.spark.dataframes.changes import plan_changes
from anabranch.spark.dataframes.columns import COMMITS, POINTERS, RANGES
from anabranch.spark.dataframes.objects import plan_objects
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import open_references, open_repository
from anabranch.spark.sources.references import References

__all__ = ["READERS"]

_BATCH_ROWS = 10_000


def _objects(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        repository = open_repository(source, options.repository, options.store)
        commit = repository.references.commit(options.reference)
        pin_for_query(repository.references, [commit.id])
        return plan_objects(
            repository, commit, options.keys, options.entries_per_task, options.schema
        )


def _changes(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        repository = open_repository(source, options.repository, options.store)
        references = repository.references
        left, right = references.commit(options.left), references.commit(options.right)
        pin_for_query(references, [left.id, right.id])
        return plan_changes(
            *(repository, left, right, options.keys, options.entries_per_task), options.schema
        )


def _ranges(options: ReadOptions) -> Plan:
    with open_source(options.location) as source:
        repository = open_repository(source, options.repository, options.store)
        ranges = repository.ranges(options.reference, options.keys)
    partitions = [
        ranges[start : start + _BATCH_ROWS] for start in range(0, len(ranges), _BATCH_ROWS)
    ]
    return Plan(partitions, partial(_range_rows, options.schema))


def _range_rows(schema: pa.Schema, ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
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
    return _batches(rows, RANGES, schema)


def _commits(options: ReadOptions) -> Plan:
    return Plan([options], _commit_rows)


def _commit_rows(options: ReadOptions) -> Iterator[pa.RecordBatch]:
    with open_source(options.location) as source:
        commits = open_references(source, options.repository).log(options.reference)
        yield from _batches(map(commit_row, commits), COMMITS, options.schema)


def _pointers(
    list_prefix: Callable[[References, str], Iterator[Any]], options: ReadOptions
) -> Plan:
    return Plan([options], partial(_pointer_rows, list_prefix))


def _pointer_rows(
    list_prefix: Callable[[References, str], Iterator[Any]], options: ReadOptions
) -> Iterator[pa.RecordBatch]:
    with open_source(options.location) as source:
        pointers = list_prefix(open_references(source, options.repository), options.prefix)
        rows = (pointer._asdict() for pointer in pointers)
        yield from _batches(rows, POINTERS, options.schema)


def _branches(references: References, prefix: str) -> Iterator[Any]:
    return references.branches(prefix)


def _tags(references: References, prefix: str) -> Iterator[Any]:
    return references.tags(prefix)


def _batches(
    rows: Iterable[Mapping[str, Any]], schema: pa.Schema, selected: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yields rows of a schema in batches, with the selected columns."""
    remaining = iter(rows)
    while batch := list(itertools.islice(remaining, _BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(batch, schema=schema).select(selected.names)


def _reject_batch_query(options: ReadOptions) -> Plan:
    raise NotSupported(
        f"{options.repository}: the option branch is for streams",
        hint="Use spark.readStream, or read changes with the options left and right.",
    )


READERS: Mapping[str, Callable[[ReadOptions], Plan]] = {
    "objects": _objects,
    "changes": _changes,
    "commits": _commits,
    "branches": partial(_pointers, _branches),
    "tags": partial(_pointers, _tags),
    "ranges": _ranges,
    "steps": _reject_batch_query,
}
"""The functions that plan batch queries, by the value of the option `what`."""
