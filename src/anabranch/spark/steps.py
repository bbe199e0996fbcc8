"""Steps: what a branch has gone through since a commit, one commit after the other.

A step leads from a commit's first parent to it, so a merge is one step, with all that it brought.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from anabranch.errors import Conflict
from anabranch.model.commit import Commit
from anabranch.model.names import key_of
from anabranch.spark.asked import Asked
from anabranch.spark.changes import read_changes
from anabranch.spark.columns import STEPS_ARROW
from anabranch.spark.pieces import Pair, cut_difference
from anabranch.spark.references import References
from anabranch.spark.sources import Repository
from anabranch.spark.table_files import TableFiles
from anabranch.spark.tasks import Plan

__all__ = ["Step", "beginning", "plan_steps", "steps_between"]


class Step(NamedTuple):
    """A piece of what one commit changed."""

    commit: str
    pair: Pair


def beginning(references: References, asked: Asked) -> str:
    """Returns the commit after which a stream begins: the one that `since` means, the first one of
    all for `history`, and otherwise the branch's head.
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

    Raises Conflict (kind branch_was_reset) when `start` is not among those of `end`: the branch
    was moved to another history meanwhile.
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
        f"{branch}: the commit {start}, up to which its changes were read, is not in its history"
        f" any more, of which {end} is the last: the branch was reset",
        kind="branch_was_reset",
        hint="Compare the two commits, then start a stream with a new checkpoint.",
    )


def plan_steps(repository: Repository, asked: Asked, start: str, end: str) -> Plan:
    """Returns how tasks read the steps between two commits. Ranges that a step leaves as they are
    are in none of them.
    """
    commits = steps_between(repository.references, asked.branch, start, end)
    pieces: list[Step] = []
    before = repository.ranges_of(commits[0].metarange_id, asked.prefix)
    for commit in commits[1:]:
        after = repository.ranges_of(commit.metarange_id, asked.prefix)
        pairs = cut_difference(before, after, asked.entries_per_task)
        pieces += [Step(commit.id, pair) for pair in pairs]
        before = after
    read = partial(
        _read_step, repository.tables, repository.storage_namespace, key_of(asked.prefix)
    )
    return Plan(pieces, read)


def _read_step(
    files: TableFiles, storage_namespace: str, prefix: bytes, step: Step
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of a piece, with the commit that made them."""
    for batch in read_changes(files, storage_namespace, prefix, step.pair):
        name = pa.repeat(pa.scalar(step.commit), batch.num_rows)
        yield pa.RecordBatch.from_arrays([name, *batch.columns], schema=STEPS_ARROW)
