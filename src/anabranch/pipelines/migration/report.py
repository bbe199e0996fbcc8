"""Report of a migration: the records of lakeFS's database that are migrated, and the others."""

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
"""The maximum number of unreadable records that are listed; all are counted."""

Target = Literal["absent", "same", "taken", "differs", "omitted", "in place"]
"""The state of a repository's name in the target: unused (or an interrupted copy), the repository
with equal content, another repository, the repository with other content. A repository that lakeFS
was deleting is omitted; in place, the target is the source.
"""


class Unreadable(msgspec.Struct, frozen=True):
    """A record that cannot be read; a key that is not printable is escaped as in Python."""

    partition: str
    key: str
    reason: str


class LeftBehind(msgspec.Struct, frozen=True):
    """Records that are not migrated, and the reason; `where` is a repository's name, or empty."""

    what: str
    records: int
    reason: str
    where: str = ""


class RepositoryReport(msgspec.Struct, kw_only=True):
    """A repository: its record, the counts of its records, and whether its objects exist.

    `retention` describes its retention rules, or why they cannot be read; `unreachable` is the
    reason if its objects cannot be reached, else empty; `normalized` is whether the normalized
    storage namespace is added to its record.
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
    """Records of access control. `administrator` is the name of the administrator, empty without
    one, and `key_pairs` the number of their key pairs. The other numbers count records of other
    users: `user_key_pairs` are those that lakeFS's reference server for access control accepts,
    `unused_key_pairs` those of lakeFS's earlier access control, which do not come over. `omitted`
    is the reason if the administrator is not migrated, else empty.
    """

    administrator: str = ""
    key_pairs: int = 0
    users: int = 0
    groups: int = 0
    policies: int = 0
    user_key_pairs: int = 0
    unused_key_pairs: int = 0
    relations: int = 0
    omitted: str = ""


class Report(msgspec.Struct, kw_only=True):
    """The results of the survey and of the migration: `pending` is whether there are records to
    write, `written` is the number of written records.
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
        """Counts an unreadable record, and lists it if it is one of the first."""
        self.unreadable_records += 1
        if len(self.unreadable) < MAX_NAMED:
            self.unreadable.append(Unreadable(_printable(partition), _printable(key), reason))

    def warn(self, text: str) -> None:
        """Adds a warning, up to MAX_NAMED."""
        if len(self.warnings) < MAX_NAMED:
            self.warnings.append(text)


def _printable(name: str | bytes) -> str:
    text = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
