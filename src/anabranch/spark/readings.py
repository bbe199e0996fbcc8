"""Readings: how each thing that the format `anabranch` offers is planned and read.

Objects and changes are cut into pieces, as the functions of the same names do; the other things
are small beside them, and one task asks for them page by page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from anabranch.errors import NotSupported
from anabranch.model.commit import Commit
from anabranch.model.names import path_of
from anabranch.spark.asked import Asked, opened
from anabranch.spark.changes import plan_changes
from anabranch.spark.columns import (
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
from anabranch.spark.objects import plan_objects
from anabranch.spark.pieces import Range
from anabranch.spark.references import References
from anabranch.spark.sources import references_of, repository_of
from anabranch.spark.tasks import Plan

__all__ = ["READINGS", "Reading"]

_BATCH = 10_000


class Reading(NamedTuple):
    """The schema, for Spark; what makes the plan; and the column that `prefix` is about, if any."""

    schema: str
    plan: Callable[[Asked], Plan]
    column: str | None = None


def _objects(asked: Asked) -> Plan:
    with opened(asked.place) as source:
        repository = repository_of(source, asked.repository)
        return plan_objects(repository, asked.reference, asked.prefix, asked.entries_per_task)


def _changes(asked: Asked) -> Plan:
    with opened(asked.place) as source:
        repository = repository_of(source, asked.repository)
        return plan_changes(
            repository, asked.left, asked.right, asked.prefix, asked.entries_per_task
        )


def _ranges(asked: Asked) -> Plan:
    with opened(asked.place) as source:
        found = repository_of(source, asked.repository).ranges(asked.reference, asked.prefix)
    pieces = [found[start : start + _BATCH] for start in range(0, len(found), _BATCH)]
    return Plan(pieces, _range_rows)


def _range_rows(ranges: Iterable[Range]) -> Iterator[pa.RecordBatch]:
    rows = (
        {
            "id": found.id,
            "min_path": path_of(found.min_key),
            "max_path": path_of(found.max_key),
            "objects": found.entries,
            "estimated_size": found.size,
        }
        for found in ranges
    )
    return _batches(rows, RANGES_ARROW)


def _commits(asked: Asked) -> Plan:
    return Plan([asked], _commit_rows)


def _commit_rows(asked: Asked) -> Iterator[pa.RecordBatch]:
    with opened(asked.place) as source:
        commits = references_of(source, asked.repository).log(asked.reference)
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


def _pointers(list_prefix: Callable[[References, str], Iterator[Any]], asked: Asked) -> Plan:
    return Plan([asked], partial(_pointer_rows, list_prefix))


def _pointer_rows(
    list_prefix: Callable[[References, str], Iterator[Any]], asked: Asked
) -> Iterator[pa.RecordBatch]:
    with opened(asked.place) as source:
        found = list_prefix(references_of(source, asked.repository), asked.prefix)
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


def _only_streamed(asked: Asked) -> Plan:
    raise NotSupported(
        f"{asked.repository}: the option branch makes a stream of changes",
        hint="Read it by spark.readStream, or ask for changes by left and right.",
    )


READINGS = {
    "objects": Reading(OBJECTS, _objects, "path"),
    "changes": Reading(CHANGES, _changes, "path"),
    "commits": Reading(COMMITS, _commits),
    "branches": Reading(POINTERS, partial(_pointers, _branches), "id"),
    "tags": Reading(POINTERS, partial(_pointers, _tags), "id"),
    "ranges": Reading(RANGES, _ranges),
    "steps": Reading(STEPS, _only_streamed),
}
"""By the option `what`."""
