"""The branch protection rules of a repository, stored as one record in lakeFS's format."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.errors import PreconditionFailed
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.glob import glob
from anabranch.model.protection import Blocked, ProtectionRules
from anabranch.model.repository import Repository
from anabranch.versioning.records import keys, references

__all__ = ["Protection"]


class Protection:
    """The branch protection rules of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, repository: Repository) -> ProtectionRules:
        """Returns a repository's rules."""
        return references.protection_from(self._keyvalue.get(repository.partition, keys.PROTECTION))

    def replace(
        self, repository: Repository, patterns: Iterable[str], *, if_match: str | None = None
    ) -> ProtectionRules:
        """Replaces all rules and returns the new ones; each blocks all actions.

        Raises Invalid for a malformed pattern, and PreconditionFailed if `if_match` is given and
        the current rules have another ETag.
        """
        all_actions = frozenset(Blocked)
        rules = dict.fromkeys(patterns, all_actions)
        for pattern in rules:
            glob(pattern)
        raw = self._keyvalue.get(repository.partition, keys.PROTECTION)
        record = references.protection_bytes(rules)
        write = Write(repository.partition, keys.PROTECTION, record)
        expect = []
        if if_match is not None:
            expect = [Expect(repository.partition, keys.PROTECTION, raw)]
        matches = if_match is None or references.protection_from(raw).etag == if_match
        if not matches or not self._keyvalue.apply([write], expect):
            raise PreconditionFailed(
                "Precondition failed",
                hint="The rules have changed since they were read: read them again.",
            )
        return references.protection_from(record)
