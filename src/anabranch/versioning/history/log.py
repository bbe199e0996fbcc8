"""The log: a commit and its ancestors, the newest first.

A priority queue holds the commits whose children have been returned; the newest of them is returned
next, and only then are its parents read. So a page of a long history reads about as many commits as
it returns.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from anabranch.brevity import about_to_take_long
from anabranch.errors import Invalid
from anabranch.model.commits.commit import Commit
from anabranch.model.page import Page
from anabranch.versioning.history.revision_walk import ReadCommit

if TYPE_CHECKING:
    from anabranch._kernel import CommitGraph

__all__ = [
    "Changed",
    "Limits",
    "filter_changed",
    "log",
    "log_in_graph",
    "log_page",
    "seconds_and_nanos",
]

Changed = Callable[[Commit, Commit], bool]
"""Returns whether a commit changed the selected paths, compared with its parent."""


class Limits(TypedDict):
    """Where a log begins and ends, as `log` describes."""

    first_parent: bool
    since: datetime | None
    stop_at: str | None
    after: str | None


_MAX_BRIEF_READS = 2_000
"""A commit has as many parents as clients wish, and all are read before the next one is known."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def log(
    read: ReadCommit,
    start: Commit,
    *,
    first_parent: bool = False,
    since: datetime | None = None,
    stop_at: str | None = None,
    after: str | None = None,
) -> Iterator[Commit]:
    """Yields `start` and its ancestors, each once, by creation date descending, then by id
    descending; if dates are not in order, a commit still follows at least one of its children.

    `first_parent` follows only the first parent of a merge. `since`, a time with a zone, omits
    older commits and those reached only through them. `stop_at` is the last commit returned.
    `after` omits everything up to and including that commit; if it is not in the log, the result is
    empty.

    Raises Invalid (kind invalid_time), and during iteration what `read` raises, and TakesLong where
    the call must be brief and thousands of parents would be read.
    """
    commits = _walk_newest_first(read, start, first_parent, since, stop_at)
    if after is not None:
        commits = itertools.islice(
            itertools.dropwhile(lambda commit: commit.id != after, commits), 1, None
        )
    return commits


def log_in_graph(
    graph: CommitGraph,
    start: Commit,
    limits: Limits,
    paths: Sequence[bytes] | None = None,
    prefixes: Sequence[bytes] | None = None,
) -> Iterator[str]:
    """Yields the ids of the commits that `log` yields; with paths or prefixes, of those with one
    parent that may have changed one. Raises KernelError for a parent that the graph misses.
    """
    since = limits["since"]
    return graph.log(
        start.id,
        paths,
        prefixes,
        first_parent=limits["first_parent"],
        since=None if since is None else seconds_and_nanos(since),
        stop_at=limits["stop_at"],
        after=limits["after"],
    )


def log_page(commits: Iterable[Commit], amount: int, *, limit: bool = False) -> Page[Commit]:
    """Returns the first `amount` (at least 1) commits; the offset of the next page is the `after`
    of the next `log`.

    With `limit`, no further page is needed: whether there are more commits is not determined, which
    avoids a search of the remaining history for a rare change.
    """
    source = iter(commits)
    items = list(itertools.islice(source, amount))
    if limit or len(items) < amount or next(source, None) is None:
        return Page(items)
    return Page(items, has_more=True, next_offset=items[-1].id)


class _Newest:
    """Orders a commit before those that are older."""

    __slots__ = ("_key", "commit")

    def __init__(self, commit: Commit) -> None:
        self.commit = commit
        self._key = (commit.creation_date, commit.nanos, commit.id)

    def __lt__(self, other: _Newest) -> bool:
        return self._key > other._key


def _walk_newest_first(
    read: ReadCommit,
    start: Commit,
    first_parent: bool,
    since: datetime | None,
    stop_at: str | None,
) -> Iterator[Commit]:
    seen = {start.id}
    queue: list[_Newest] = []
    oldest = None if since is None else seconds_and_nanos(since)

    def push(commit: Commit) -> None:
        if oldest is None or (commit.creation_date, commit.nanos) >= oldest:
            heapq.heappush(queue, _Newest(commit))

    push(start)
    while queue:
        commit = heapq.heappop(queue).commit
        yield commit
        # in a line of commits the next one is the only one: most of a long log needs no queue
        while not queue and len(commit.parents) == 1 and commit.id != stop_at:
            (parent,) = commit.parents
            if parent in seen:
                return
            seen.add(parent)
            commit = read(parent)
            if oldest is not None and (commit.creation_date, commit.nanos) < oldest:
                return
            yield commit
        if commit.id == stop_at:
            return
        for parent in _unseen(commit.parents[:1] if first_parent else commit.parents, seen):
            push(read(parent))


def _unseen(parents: Sequence[str], seen: set[str]) -> list[str]:
    """Returns the parents that are not in `seen`, and adds them. Raises TakesLong where the call
    must be brief and all of them are too many to read.
    """
    unseen = [parent for parent in dict.fromkeys(parents) if parent not in seen]
    seen.update(unseen)
    if len(seen) > _MAX_BRIEF_READS:
        about_to_take_long()
    return unseen


def filter_changed(
    read: ReadCommit, commits: Iterator[Commit], changed: Changed
) -> Iterator[Commit]:
    """Yields the commits for which `changed` returns true, given a commit and its parent. Merges
    and the initial commit are omitted (as in lakeFS 1.84).
    """
    for commit in commits:
        if len(commit.parents) == 1 and changed(commit, read(commit.parents[0])):
            yield commit


def seconds_and_nanos(moment: datetime) -> tuple[int, int]:
    """Returns a time since 1970 in seconds and the nanoseconds beyond. Raises Invalid (kind
    invalid_time) for a time without a zone.
    """
    if moment.tzinfo is None:
        raise Invalid(
            f"since {moment.isoformat()}: no time zone: invalid value: validation error",
            kind="invalid_time",
            hint="Add the time zone, as in 2024-02-29T12:00:00Z.",
        )
    # datetime.timestamp() is a float, too coarse for equality below a second
    elapsed = moment - _EPOCH
    return elapsed.days * 86400 + elapsed.seconds, elapsed.microseconds * 1000
