"""Which branches expire when: an index by time, so that those that are due are found at once.

    anabranch-expiring-branches  TIME/PARTITION/BRANCH   the repository and the branch, as JSON

TIME is in seconds since 1970, twelve digits. Each record is written with that of its branch.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records.keys import EXPIRING_BRANCHES

__all__ = ["DueBranch", "due_branches", "due_writes", "forget_due", "postponed", "still_due"]


class DueBranch(msgspec.Struct, frozen=True):
    """A branch whose time is over, by the name and the partition of its repository; `expires_at` is
    when it is deleted, in seconds since 1970.
    """

    repository: str
    partition: str
    branch: str
    expires_at: int


_DECODER = msgspec.json.Decoder(DueBranch)


def due_branches(keyvalue: KeyValueStore, now: float) -> Iterator[DueBranch]:
    """Yields the branches whose time is over, the longest expired first."""
    for _, raw in keyvalue.scan(EXPIRING_BRANCHES, b"", b"%012d" % (int(now) + 1)):
        yield _DECODER.decode(raw)


def due_writes(repository: Repository, branch: str, before: int, after: int) -> list[Write]:
    """Returns the writes with a change of when a branch expires, in seconds since 1970; 0 is
    never.
    """
    if before == after:
        return []
    writes = []
    if before:
        old = DueBranch(repository.id, repository.partition, branch, before)
        writes.append(forget_due(old))
    if after:
        new = DueBranch(repository.id, repository.partition, branch, after)
        writes.append(Write(EXPIRING_BRANCHES, _key(new), msgspec.json.encode(new)))
    return writes


def postponed(due: DueBranch, until: int) -> list[Write]:
    """Returns the writes by which a branch that could not be deleted is due again at a time."""
    later = msgspec.structs.replace(due, expires_at=until)
    return [forget_due(due), Write(EXPIRING_BRANCHES, _key(later), msgspec.json.encode(later))]


def still_due(due: DueBranch) -> Expect:
    """Returns the condition that a branch is due as it was read: no other process has taken it."""
    return Expect(EXPIRING_BRANCHES, _key(due), msgspec.json.encode(due))


def forget_due(due: DueBranch) -> Write:
    """Returns the write that takes a branch out of the index."""
    return Write(EXPIRING_BRANCHES, _key(due), None)


def _key(due: DueBranch) -> bytes:
    return f"{due.expires_at:012d}/{due.partition}/{due.branch}".encode("utf-8", "surrogateescape")
