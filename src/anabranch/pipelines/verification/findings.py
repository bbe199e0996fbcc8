"""Findings of a verification, and what mends those that can be mended without loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from anabranch.keyvalue.contract import Expect, Write

__all__ = ["KINDS", "MAX_SHOWN", "Finding", "Findings", "Mend"]

MAX_SHOWN = 1000
"""The most findings of one kind that are kept; the others are counted."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "database_damaged": "SQLite finds its own file damaged",
        "record_unreadable": "A record of the key-value store cannot be read",
        "commit_id": "A commit's id is not the digest of its content",
        "parent_missing": "A commit's parent has no record",
        "commit_generation": "A commit's generation is not greater than its parent's",
        "commit_missing": "A branch or a tag names a commit that has no record",
        "expiry_missing": "A branch ends at a time, and is not in the index of those that do",
        "workspace_without_branch": "A workspace has no branch",
        "workspace_key_stray": "An access key is of a workspace that does not exist",
        "pull_request_missing": "An index names a pull request that does not exist",
        "operation_index": "The operation log's index differs from its operations",
        "operation_missing": "The operation log's index names an operation that does not exist",
        "area_orphaned": "No branch and no operation has a staging area",
        "area_shared": "Two branches or operations have one staging area",
        "area_condemned": "The staging area of a branch or an operation is about to be removed",
        "upload_missing": "A multipart upload is listed and does not exist",
        "upload_unlisted": "A multipart upload exists and is not listed",
        "upload_lost": "The store does not know an upload that has not ended",
        "upload_unreadable": "The parts of an upload cannot be read",
        "parts_orphaned": "There are checksums of an upload that does not exist",
        "sweep_lasting": "The lease of a sweep ends later than any may",
        "tombstones_orphaned": "There are tombstones of a sweep that does not exist",
        "pin_lasting": "A pin ends later than any may",
        "history_index": "A record of the history index is damaged or leaves out a path",
        "table_missing": "A table of a commit is missing",
        "table_damaged": "A table has not the content that its name says, or cannot be read",
        "range_description": "A range differs from what a metarange says of it",
        "object_missing": "An object that is needed is missing",
        "object_size": "An object has another size than its entry",
        "object_damaged": "The MD5 of an object's bytes is not that of its entry",
        "journal_damaged": "A record of a local store's journal is damaged",
        "audit_chain": "A line of the audit log was altered, removed, added or moved",
        "unreadable": "A check ended because of damage",
    }
)
"""All kinds of findings, each with what it means."""


class Mend(NamedTuple):
    """How a finding is mended: `what` it does, for people, and the writes, which are made on
    condition that the rows are as they were found.
    """

    what: str
    writes: Sequence[Write]
    expect: Sequence[Expect] = ()


class Finding(NamedTuple):
    """Something that is stored and must not be so, or that is missing. `check` and `kind` are
    stable names for programs, `subject` says where it is, `message` what is wrong, for people.
    """

    check: str
    kind: str
    subject: str
    message: str
    mend: Mend | None = None

    @property
    def identity(self) -> tuple[str, str, str]:
        """What two looks at the same finding have in common."""
        return self.check, self.kind, self.subject


class Findings:
    """The findings of a run: all are counted, the first of each kind are kept."""

    def __init__(self) -> None:
        self.shown: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def add(self, findings: Iterable[Finding]) -> None:
        """Adds findings."""
        for finding in findings:
            self._counts[finding.kind] += 1
            if self._counts[finding.kind] <= MAX_SHOWN:
                self.shown.append(finding)

    @property
    def total(self) -> int:
        """The number of all findings."""
        return self._counts.total()

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each kind."""
        return dict(self._counts)
