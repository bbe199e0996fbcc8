"""The steps of a branch since a commit, in order of the commits.

A step leads from a commit's first parent to the commit, so a merge is one step with all of its
changes.
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
from anabranch.spark.planning.partition_planning import Pair, cut_difference
from anabranch.spark.planning.scan_plan import Plan
from anabranch.spark.sources.commit_sources import Repository
from anabranch.spark.sources.held_commits import pin_for_query
from anabranch.spark.sources.references import References
from anabranch.spark.sources.table_files import TableFiles

__all__ = ["Step", "beginning", "plan_steps", "steps_between"]


class Step(NamedTuple):
    """A part of the changes of one commit."""

    commit: str
    pair: Pair


def beginning(references: References, asked: ReadOptions) -> str:
    """Returns the commit after which a stream begins: the commit of `since`, the first commit for
    `history`, otherwise the branch's head.
    """
    head = references.branch(asked.branch).commit_id
    if asked.since:
        return references.commit(asked.since).id
    if asked.history:
        *_, first = references.log(head, first_parent=True)
        return first.id
    return head


def steps_between(references: References, branch: str, start: str, end: str) -> list[Commit]:
    """Returns the commits from `start` to `end`, both included, by first parents, oldest first.
    Raises Conflict (kind branch_was_reset) if `start` is not an ancestor of `end`: the branch was
    reset to another history.
    """
    oldest = references.commit(start)
    found: list[Commit] = []
    for commit in references.log(end, first_parent=True):
        found.append(commit)
        if commit.id == start:
            return found[::-1]
        if commit.generation <= oldest.generation:
            break
    raise Conflict(
        f"{branch}: the commit {start}, up to which its changes were read, is no longer in its"
        f" history, whose last commit is {end}: the branch was reset",
        kind="branch_was_reset",
        hint="Compare the two commits, then start a stream with a new checkpoint.",
    )


def plan_steps(repository: Repository, asked: ReadOptions, start: str, end: str) -> Plan:
    """Returns the plan of the steps between two commits. Ranges that a step does not change are in
    none of its pieces.
    """
    commits = steps_between(repository.references, asked.branch, start, end)
    pin_for_query(repository.references, {start: None, end: None})
    pieces: list[Step] = []
    before = repository.ranges_of(commits[0].metarange_id, asked.prefix)
    for commit in commits[1:]:
        after = repository.ranges_of(commit.metarange_id, asked.prefix)
        pairs = cut_difference(before, after, asked.entries_per_task)
        pieces += [Step(commit.id, pair) for pair in pairs]
        before = after
    read = partial(
        _read_step, repository.tables, repository.storage_namespace, encode_path(asked.prefix)
    )
    return Plan(pieces, read)


def _read_step(
    files: TableFiles, storage_namespace: str, prefix: bytes, step: Step
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of a piece, with the commit that made them."""
    for batch in read_changes(files, storage_namespace, prefix, step.pair):
        name = pa.repeat(pa.scalar(step.commit), batch.num_rows)
        yield pa.RecordBatch.from_arrays([name, *batch.columns], schema=STEPS_ARROW)
