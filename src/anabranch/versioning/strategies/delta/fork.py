"""Where the logs of two sides fork, and which commits each side has added since.

A commit is known by its identity, not by its version: the logs of branches that have been merged
before hold the same commits in different orders.
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.tables.delta.log_files import LogFiles
from anabranch.versioning.strategies.delta.commit import LogCommit, parse_commit
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["Fork", "find_fork"]


class Fork(NamedTuple):
    """The last `version` at which the three logs are the same, and the commits that the source and
    the destination have and neither the base nor the other side, in their order.
    """

    version: int
    source: list[LogCommit]
    destination: list[LogCommit]


def find_fork(base: LogFiles, source: LogFiles, destination: LogFiles) -> Fork:
    """Returns where three logs fork. Raises Conflict if they are not logs of one table, and if a
    side has lost commits.
    """
    if base.head < 0:
        raise refusal("both sides created the table")
    for log in (source, destination):
        if log.head < 0:
            raise refusal(f"the {log.owner} deleted the table")
    version = min(log.head for log in (base, source, destination))
    # a commit differs from its copy that follows other commits: what comes before is the same, too
    while not base.commit(version) == source.commit(version) == destination.commit(version):
        version -= 1
        if version < 0:
            raise refusal("the logs have no commit in common: one side created the table anew")
    known, theirs, ours = (_commits(log, version) for log in (base, source, destination))
    for log, commits in ((source, theirs), (destination, ours)):
        lost = known.keys() - commits.keys()
        if lost:
            first = min(known[identity].version for identity in lost)
            raise refusal(f"the {log.owner} has removed version {first} of the base from the log")
    return Fork(
        version,
        [commit for name, commit in theirs.items() if name not in known and name not in ours],
        [commit for name, commit in ours.items() if name not in known and name not in theirs],
    )


def _commits(log: LogFiles, after: int) -> dict[str, LogCommit]:
    """Returns the commits of a log after a version, by their identities."""
    versions = range(after + 1, log.head + 1)
    commits = (parse_commit(log.owner, version, log.commit(version)) for version in versions)
    return {commit.identity: commit for commit in commits}
