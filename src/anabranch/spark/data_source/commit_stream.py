"""Streams of the changes of a branch, commit by commit.

A step is the changes of one commit relative to its first parent, so a merge is one step with all of
its changes. A large step can be divided among batches, by path.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from anabranch.model.names import decode_key, encode_path
from anabranch.spark.data_source.branch_history import (
    BranchHistory,
    StreamCommit,
    branch_was_reset,
)
from anabranch.spark.data_source.read_options import ReadOptions
from anabranch.spark.dataframes.changes import read_changes
from anabranch.spark.dataframes.columns import STEPS
from anabranch.spark.planning.key_range import KeyRange
from anabranch.spark.planning.partition_planning import DiffPartition, partition_diff
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import Repository
from anabranch.spark.sources.references import References
from anabranch.spark.sources.table_files import TableFiles

__all__ = ["CommitStream", "Position", "StepPartition", "stream_start"]


class Position(NamedTuple):
    """The offset of a stream: all steps up to `commit` were delivered and, if there is a `step`,
    the next commit, those of its changes whose paths do not sort after `after`.
    """

    commit: str
    step: str = ""
    after: str = ""

    @classmethod
    def parse(cls, offset: Mapping[str, str]) -> Position:
        """Returns the position of an offset in a checkpoint."""
        return cls(**{name: offset[name] for name in cls._fields if name in offset})

    def to_offset(self) -> dict[str, str]:
        """Returns the offset for a checkpoint."""
        return {name: value for name, value in self._asdict().items() if value}


class StepPartition(NamedTuple):
    """A partition of the changes of one commit, with those of its keys that are read."""

    commit: str
    keys: KeyRange
    ranges: DiffPartition


class CommitStream:
    """Plans the batches of a stream with given options, in one process."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._history = BranchHistory(options.branch)

    def advance(self, repository: Repository, start: Position, head: str) -> Position:
        """Returns the end of the next batch: the head of the branch or, if there are limits, an
        earlier position. A batch has at least one step or, if the number of objects is limited, at
        least the changes of one group of overlapping ranges. Raises Conflict like `plan`.
        """
        max_steps = self._options.max_steps_per_batch
        max_objects = self._options.max_objects_per_batch
        if not (max_steps or max_objects) or start == Position(head):
            return Position(head)
        commits = self._commits(repository.references, start, Position(head))
        if max_steps:
            commits = commits[: max_steps + 1]
        if not max_objects:
            return Position(commits[-1].id)
        objects, end = 0, start
        for before, commit in itertools.pairwise(commits):
            keys = self._keys(start) if before == commits[0] else self._options.keys
            for group in _groups(repository, before, commit, keys):
                objects += sum(each.entries for side in group for each in side)
                if objects > max_objects and end != start:
                    return end
                last = max(side[-1].max_key for side in group if side)
                end = Position(before.id, commit.id, decode_key(last))
            end = Position(commit.id)
        return end

    def plan(self, repository: Repository, start: Position, end: Position) -> Plan:
        """Returns the plan that reads the changes between two positions. Ranges that a commit does
        not change are left out. Raises Conflict if the branch was reset.
        """
        namespace, schema = repository.storage_namespace, self._options.schema
        read = partial(_read_step, repository.tables, namespace, schema)
        if start == end:
            return Plan([], read)
        commits = self._commits(repository.references, start, end)
        pin_for_query(repository.references, {start.commit: None, commits[-1].id: None})
        partitions: list[StepPartition] = []
        for before, commit in itertools.pairwise(commits):
            keys = self._keys(start) if before == commits[0] else self._options.keys
            if commit.id == end.step:
                keys = keys.narrow(until=encode_path(end.after))
            diffs = partition_diff(
                repository.ranges_in_tree(before.metarange_id, keys),
                repository.ranges_in_tree(commit.metarange_id, keys),
                self._options.entries_per_task,
            )
            partitions += [StepPartition(commit.id, keys, ranges) for ranges in diffs]
        return Plan(partitions, read)

    def _keys(self, start: Position) -> KeyRange:
        """Returns the keys that are left of the first step after a position."""
        return self._options.keys.narrow(after=encode_path(start.after))

    def _commits(
        self, references: References, start: Position, end: Position
    ) -> list[StreamCommit]:
        """Returns the commits between two positions. Raises Conflict if a step that was begun is no
        longer the next one.
        """
        last = end.step or end.commit
        commits = self._history.between(references, start.commit, last)
        if start.step and [each.id for each in commits[1:2]] != [start.step]:
            raise branch_was_reset(self._options.branch, start.step, last)
        return commits


def stream_start(references: References, options: ReadOptions) -> Position:
    """Returns the position where a stream begins: after the commit of `since`, with `history` after
    the first commit of the branch, otherwise after its head.
    """
    head = references.branch(options.branch).commit_id
    if options.since:
        return Position(references.commit(options.since).id)
    if options.history:
        *_, oldest = references.log(head, first_parent=True)
        return Position(oldest.id)
    return Position(head)


def _groups(
    repository: Repository, before: StreamCommit, commit: StreamCommit, keys: KeyRange
) -> list[DiffPartition]:
    """Returns the smallest partitions of the changes of a commit, in order of their keys."""
    return partition_diff(
        repository.ranges_in_tree(before.metarange_id, keys),
        repository.ranges_in_tree(commit.metarange_id, keys),
        entries=1,
    )


def _read_step(
    files: TableFiles, storage_namespace: str, schema: pa.Schema, partition: StepPartition
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of a partition, with the id of their commit."""
    for batch in read_changes(files, storage_namespace, partition.keys, partition.ranges):
        commit_ids = pa.repeat(pa.scalar(partition.commit), batch.num_rows)
        step = pa.RecordBatch.from_arrays([commit_ids, *batch.columns], schema=STEPS)
        yield step.select(schema.names)
