"""Readers of the format `anabranch`, one for each value of the option `what`.

Objects and changes are planned as the functions of these names plan them. The others are small: a
single task reads them page by page.
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
from anabranch.spark.sources.commit_sources import open_references, open_repository
from anabranch.spark.sources.held_commits import pin_for_query
from anabranch.spark.sources.references import References

__all__ = ["READINGS", "DataReader"]

_BATCH = 10_000


class DataReader(NamedTuple):
    """The schema for Spark, the planning function, and the column that `prefix` filters, if any."""

    schema: str
    plan: Callable[[ReadOptions], Plan]
    column: str | None = None


def _objects(asked: ReadOptions) -> Plan:
    with open_source(asked.place) as source:
        repository = open_repository(source, asked.repository)
        commit = repository.references.commit(asked.reference)
        pin_for_query(repository.references, [commit.id])
        return plan_objects(repository, commit, asked.prefix, asked.entries_per_task)


def _changes(asked: ReadOptions) -> Plan:
    with open_source(asked.place) as source:
        repository = open_repository(source, asked.repository)
        references = repository.references
        both = references.commit(asked.left), references.commit(asked.right)
        pin_for_query(references, [commit.id for commit in both])
        return plan_changes(repository, *both, asked.prefix, asked.entries_per_task)


def _ranges(asked: ReadOptions) -> Plan:
    with open_source(asked.place) as source:
        found = open_repository(source, asked.repository).ranges(asked.reference, asked.prefix)
    pieces = [found[start : start + _BATCH] for start in range(0, len(found), _BATCH)]
    return Plan(pieces, _range_rows)


def _range_rows(ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
    rows = (
        {
            "id": found.id,
            "min_path": decode_key(found.min_key),
            "max_path": decode_key(found.max_key),
            "objects": found.entries,
            "estimated_size": found.size,
        }
        for found in ranges
    )
    return _batches(rows, RANGES_ARROW)


def _commits(asked: ReadOptions) -> Plan:
    return Plan([asked], _commit_rows)


def _commit_rows(asked: ReadOptions) -> Iterator[pa.RecordBatch]:
    with open_source(asked.place) as source:
        commits = open_references(source, asked.repository).log(asked.reference)
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


def _pointers(list_prefix: Callable[[References, str], Iterator[Any]], asked: ReadOptions) -> Plan:
    return Plan([asked], partial(_pointer_rows, list_prefix))


def _pointer_rows(
    list_prefix: Callable[[References, str], Iterator[Any]], asked: ReadOptions
) -> Iterator[pa.RecordBatch]:
    with open_source(asked.place) as source:
        found = list_prefix(open_references(source, asked.repository), asked.prefix)
        yield from _batches((pointer._asdict() for pointer in found), POINTERS_ARROW)


def _branches(references: References, prefix: str) -> Iterator[Any]:
    return references.branches(prefix)


def _tags(references: References, prefix: str) -> Iterator[Any]:
    return references.tags(prefix)


def _batches(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yields rows in batches."""
    source = iter(rows)
    while some := list(itertools.islice(source, _BATCH)):
        yield pa.RecordBatch.from_pylist(some, schema=schema)


def _only_streamed(asked: ReadOptions) -> Plan:
    raise NotSupported(
        f"{asked.repository}: the option branch is for streams",
        hint="Use spark.readStream, or read changes with the options left and right.",
    )


READINGS = {
    "objects": DataReader(OBJECTS, _objects, "path"),
    "changes": DataReader(CHANGES, _changes, "path"),
    "commits": DataReader(COMMITS, _commits),
    "branches": DataReader(POINTERS, partial(_pointers, _branches), "id"),
    "tags": DataReader(POINTERS, partial(_pointers, _tags), "id"),
    "ranges": DataReader(RANGES, _ranges),
    "steps": DataReader(STEPS, _only_streamed),
}
"""By the option `what`."""
