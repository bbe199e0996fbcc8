"""The ends by pattern of a repository, stored as one record: a list of rules, as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.references.branch_ends import NO_ENDS, BranchEnd, BranchEnds, check_ends
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys
from anabranch.versioning.references.rule_records import (
    MAX_ATTEMPTS,
    replace_record,
    too_many_changes,
)

__all__ = ["BranchEndRules", "StoredEnds", "ends_from"]

_DECODER = msgspec.json.Decoder(tuple[BranchEnd, ...])


class StoredEnds(NamedTuple):
    """Rules with the record that they were read from, which compare-and-set compares."""

    ends: BranchEnds
    record: bytes | None


def ends_from(raw: bytes | None) -> BranchEnds:
    """Returns the rules of a record; none without a record. Raises Corrupt."""
    if raw is None:
        return NO_ENDS
    try:
        return BranchEnds(_DECODER.decode(raw), hashlib.sha256(raw).hexdigest())
    except msgspec.MsgspecError as error:
        raise Corrupt(
            f"the record of ends of branches in the key-value store cannot be read: {error}"
        ) from error


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
