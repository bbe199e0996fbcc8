"""The report of a migration: what comes over from lakeFS's database, what does not, and why."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "MAX_NAMED",
    "AccessReport",
    "LeftBehind",
    "Report",
    "RepositoryReport",
    "Target",
    "Unreadable",
]

MAX_NAMED = 100
"""At most so many unreadable records are named; all are counted."""

Target = Literal["absent", "same", "taken", "differs", "omitted", "in place"]
"""What a target holds under a repository's name: nothing (or an interrupted copy), the repository
with equal content, another repository, the repository with other content. A repository that lakeFS
was deleting is omitted; in place, the target is the source.
"""


class Unreadable(msgspec.Struct, frozen=True):
    """A record that cannot be read; a key that is not printable is escaped as in Python."""

    partition: str
    key: str
    reason: str


class LeftBehind(msgspec.Struct, frozen=True):
    """Records that do not come over, and why; `where` is a repository's name, or empty."""

    what: str
    records: int
    reason: str
    where: str = ""


class RepositoryReport(msgspec.Struct, kw_only=True):
    """A repository: its record, the numbers of what it holds, and whether its objects exist.

    `retention` says whether there are rules of garbage collection, or why they cannot be read;
    `unreachable` is why its objects cannot be reached, empty if they can; `normalized` whether its
    record needs the storage namespace in another spelling, too.
    """

    name: str
    storage_namespace: str
    default_branch: str
    creation_date: int
    partition: str
    read_only: bool = False
    in_deletion: bool = False
    branches: int = 0
    tags: int = 0
    commits: int = 0
    uncommitted: int = 0
    protection_rules: int = 0
    metadata: int = 0
    pull_requests: int = 0
    imports: int = 0
    tasks: int = 0
    retention: str = ""
    unreachable: str = ""
    normalized: bool = False
    target: Target = "absent"


class AccessReport(msgspec.Struct, kw_only=True):
    """Users and what belongs to them. `administrator` is the name of the administrator, empty
    without one, and `key_pairs` the number of their key pairs; the other numbers are of records of
    lakeFS's earlier access control. `omitted` is why the administrator does not come over, empty if
    they do.
    """

    administrator: str = ""
    key_pairs: int = 0
    users: int = 0
    groups: int = 0
    policies: int = 0
    other_key_pairs: int = 0
    relations: int = 0
    omitted: str = ""


class Report(msgspec.Struct, kw_only=True):
    """What a migration finds, and what it has done: `pending` is whether anything is to be written,
    `written` the number of records that were.
    """

    source: str
    in_place: bool
    active_clients: list[str]
    repositories: list[RepositoryReport] = msgspec.field(default_factory=list)
    access: AccessReport = msgspec.field(default_factory=AccessReport)
    left_behind: list[LeftBehind] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    unreadable: list[Unreadable] = msgspec.field(default_factory=list)
    unreadable_records: int = 0
    dry_run: bool = True
    pending: bool = False
    written: int = 0

    def add_unreadable(self, partition: str, key: bytes, reason: str) -> None:
        """Counts an unreadable record, and names it if it is one of the first."""
        self.unreadable_records += 1
        if len(self.unreadable) < MAX_NAMED:
            self.unreadable.append(Unreadable(_shown(partition), _shown(key), reason))

    def warn(self, text: str) -> None:
        """Adds a warning, unless there are very many."""
        if len(self.warnings) < MAX_NAMED:
            self.warnings.append(text)


def _shown(name: str | bytes) -> str:
    text = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
