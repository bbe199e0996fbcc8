"""The log: a commit and its ancestors, the newest first.

A queue holds the commits whose children were shown; the newest of them is shown next, and only
then are its parents read. So a page of a long history reads about as many commits as it shows.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from anabranch.errors import Invalid
from anabranch.model.commit import Commit
from anabranch.model.page import Page
from anabranch.versioning.ancestry import ReadCommit

__all__ = ["Changed", "log", "log_page"]

Changed = Callable[[Commit, Commit], bool]
"""Whether a commit changed what is asked for, compared with its parent."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def log(
    read: ReadCommit,
    start: Commit,
    *,
    first_parent: bool = False,
    since: datetime | None = None,
    stop_at: str | None = None,
    after: str | None = None,
    changed: Changed | None = None,
) -> Iterator[Commit]:
    """Yields `start` and its ancestors, each once, by creation date descending, then by id
    descending; where clocks were wrong, a commit still comes after one of its children.

    `first_parent` follows only the first parent of a merge. `since`, a time with its zone, leaves
    out what is older and what is reached only through that. `stop_at` is the last one shown.
    `after` leaves out everything up to that commit, itself included; a commit that is
    not in the log leaves nothing. `changed` keeps only commits for which it is true; it is asked
    only about commits with one parent, merges and the initial commit are left out (as in lakeFS
    1.84).

    Raises Invalid (kind invalid_time), and what `read` raises, while it goes.
    """
    commits = _newest_first(read, start, first_parent, since, stop_at)
    if after is not None:
        commits = itertools.islice(
            itertools.dropwhile(lambda commit: commit.id != after, commits), 1, None
        )
    return commits if changed is None else _only_changed(read, commits, changed)


def log_page(commits: Iterable[Commit], amount: int, *, limit: bool = False) -> Page[Commit]:
    """Returns the first `amount` (at least 1) commits; the offset of the next page is what to give
    `log` as `after`.

    `limit` means that nobody will ask for more: whether there is more is not looked up, which
    saves a search through all the history behind a rare change.
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


def _newest_first(
    read: ReadCommit,
    start: Commit,
    first_parent: bool,
    since: datetime | None,
    stop_at: str | None,
) -> Iterator[Commit]:
    seen = {start.id}
    queue: list[_Newest] = []
    oldest = None if since is None else _seconds_and_nanos(since)

    def enter(commit: Commit) -> None:
        if oldest is None or (commit.creation_date, commit.nanos) >= oldest:
            heapq.heappush(queue, _Newest(commit))

    enter(start)
    while queue:
        commit = heapq.heappop(queue).commit
        yield commit
        if commit.id == stop_at:
            return
        for parent in commit.parents[:1] if first_parent else commit.parents:
            if parent not in seen:
                seen.add(parent)
                enter(read(parent))


def _only_changed(
    read: ReadCommit, commits: Iterator[Commit], changed: Changed
) -> Iterator[Commit]:
    for commit in commits:
        if len(commit.parents) == 1 and changed(commit, read(commit.parents[0])):
            yield commit


def _seconds_and_nanos(moment: datetime) -> tuple[int, int]:
    if moment.tzinfo is None:
        raise Invalid(
            f"since {moment.isoformat()}: no time zone: invalid value: validation error",
            kind="invalid_time",
            hint="Give the zone: 2024-02-29T12:00:00Z.",
        )
    # datetime.timestamp() is a float, too coarse for equality below a second
    passed = moment - _EPOCH
    return passed.days * 86400 + passed.seconds, passed.microseconds * 1000
