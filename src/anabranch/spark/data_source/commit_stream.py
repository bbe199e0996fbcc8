"""Streams of the changes of a branch, commit by commit.

A step is the changes of one commit relative to its first parent, so a merge is one step with all of
its changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from anabranch.errors import Conflict
from anabranch.model.commit import Commit
from anabranch.model.names import encode_path
from anabranch.spark.data_source.read_options import ReadOptions
from anabranch.spark.dataframes.changes import read_changes
from anabranch.spark.dataframes.columns import STEPS_ARROW
from anabranch.spark.planning.partition_planning import DiffPartition, partition_diff
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import Repository
from anabranch.spark.sources.references import References
from anabranch.spark.sources.table_files import TableFiles

__all__ = ["StepPartition", "commits_between", "plan_steps", "stream_start"]


class StepPartition(NamedTuple):
    """A partition of the changes of one commit."""

    commit: str
    ranges: DiffPartition


def stream_start(references: References, options: ReadOptions) -> str:
    """Returns the id of the commit after which a stream begins: the commit of `since`, with
    `history` the first commit of the branch, otherwise its head.
    """
    head = references.branch(options.branch).commit_id
    if options.since:
        return references.commit(options.since).id
    if options.history:
        *_, oldest = references.log(head, first_parent=True)
        return oldest.id
    return head


def commits_between(references: References, branch: str, start: str, end: str) -> list[Commit]:
    """Returns the commits from `start` to `end`, both inclusive, along first parents, oldest first.
    Raises Conflict (kind branch_was_reset) if `start` is not an ancestor of `end`, which means that
    the branch was reset.
    """
    start_generation = references.commit(start).generation
    commits: list[Commit] = []
    for commit in references.log(end, first_parent=True):
        commits.append(commit)
        if commit.id == start:
            return commits[::-1]
        if commit.generation <= start_generation:
            break
    raise Conflict(
        f"{branch}: the branch was reset: the commit {start}, up to which its changes were read,"
        f" is no longer in its history, whose last commit is {end}",
        kind="branch_was_reset",
        hint="Compare the two commits, then start a stream with a new checkpoint.",
    )


def plan_steps(repository: Repository, options: ReadOptions, start: str, end: str) -> Plan:
    """Returns the plan that reads the steps between two commits. Ranges that a commit does not
    change are left out.
    """
    commits = commits_between(repository.references, options.branch, start, end)
    pin_for_query(repository.references, {start: None, end: None})
    partitions: list[StepPartition] = []
    before = repository.ranges_in_tree(commits[0].metarange_id, options.prefix)
    for commit in commits[1:]:
        after = repository.ranges_in_tree(commit.metarange_id, options.prefix)
        diffs = partition_diff(before, after, options.entries_per_task)
        partitions += [StepPartition(commit.id, ranges) for ranges in diffs]
        before = after
    read = partial(
        _read_step, repository.tables, repository.storage_namespace, encode_path(options.prefix)
    )
    return Plan(partitions, read)


def _read_step(
    files: TableFiles, storage_namespace: str, prefix: bytes, partition: StepPartition
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of a partition, with the id of their commit."""
    for batch in read_changes(files, storage_namespace, prefix, partition.ranges):
        commit_ids = pa.repeat(pa.scalar(partition.commit), batch.num_rows)
        yield pa.RecordBatch.from_arrays([commit_ids, *batch.columns], schema=STEPS_ARROW)
