"""The ends by pattern of repositories: reads them, and replaces all of one at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.references.branch_ends import BranchEnd, BranchEnds, check_ends
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys
from anabranch.versioning.records.branch_ends import ends_from
from anabranch.versioning.references.rule_records import (
    MAX_ATTEMPTS,
    replace_record,
    too_many_changes,
)

__all__ = ["BranchEndRules", "StoredEnds"]


class StoredEnds(NamedTuple):
    """Rules with the record that they were read from, which compare-and-set compares."""

    ends: BranchEnds
    record: bytes | None


class BranchEndRules:
    """The ends by pattern of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, repository: Repository) -> StoredEnds:
        """Returns a repository's rules."""
        raw = self._keyvalue.get(repository.partition, keys.BRANCH_ENDS)
        return StoredEnds(ends_from(raw), raw)

    def replace(
        self, repository: Repository, rules: Sequence[BranchEnd], *, if_match: str | None = None
    ) -> BranchEnds:
        """Replaces all rules and returns the new ones.

        Raises Invalid for a wrong rule, and PreconditionFailed if `if_match` is given and the
        current rules have another ETag.
        """
        check_ends(rules)
        record = msgspec.json.encode(rules)
        for _ in range(MAX_ATTEMPTS):
            stored = self.read(repository)
            unchanged = Expect(repository.partition, keys.BRANCH_ENDS, stored.record)
            etag = stored.ends.etag
            if replace_record(self._keyvalue, unchanged, record, etag=etag, if_match=if_match):
                return ends_from(record)
        raise too_many_changes()
