"""The ends by pattern of a repository, stored as one record: a list of rules, as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from anabranch.errors import Busy, Corrupt, PreconditionFailed
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch_ends import NO_ENDS, BranchEnd, BranchEnds, check_ends
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys

__all__ = ["BranchEndRules", "StoredEnds", "ends_from"]

_MAX_ATTEMPTS = 100
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
        for _ in range(_MAX_ATTEMPTS):
            stored = self.read(repository)
            matches = if_match is None or stored.ends.etag == if_match
            write = Write(repository.partition, keys.BRANCH_ENDS, record)
            expect = Expect(repository.partition, keys.BRANCH_ENDS, stored.record)
            if matches and self._keyvalue.apply([write], [expect]):
                return ends_from(record)
            if if_match is not None:
                raise PreconditionFailed(
                    "Precondition failed",
                    hint="The rules have changed since they were read: read them again.",
                )
        raise Busy("the rules are changed by too many requests at once")
