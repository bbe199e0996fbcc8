"""The rules that protect a repository's branches, kept as one record in lakeFS's form."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.errors import PreconditionFailed
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.glob import glob
from anabranch.model.protection import Blocked, ProtectionRules
from anabranch.model.repository import Repository
from anabranch.versioning import encoding, keys

__all__ = ["Protection"]


class Protection:
    """The rules of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, repository: Repository) -> ProtectionRules:
        """Returns a repository's rules."""
        return encoding.protection_from(self._keyvalue.get(repository.partition, keys.PROTECTION))

    def replace(
        self, repository: Repository, patterns: Iterable[str], *, if_match: str | None = None
    ) -> ProtectionRules:
        """Puts rules in place of all that are there, and returns them; each blocks everything.

        Raises Invalid for what is no pattern, and PreconditionFailed unless the rules that are
        there have the ETag `if_match`, if one is given.
        """
        everything = frozenset(Blocked)
        rules = dict.fromkeys(patterns, everything)
        for pattern in rules:
            glob(pattern)
        raw = self._keyvalue.get(repository.partition, keys.PROTECTION)
        record = encoding.protection_bytes(rules)
        write = Write(repository.partition, keys.PROTECTION, record)
        expect = []
        if if_match is not None:
            expect = [Expect(repository.partition, keys.PROTECTION, raw)]
        known = if_match is None or encoding.protection_from(raw).etag == if_match
        if not known or not self._keyvalue.apply([write], expect):
            raise PreconditionFailed(
                "Precondition failed", hint="Others have changed the rules: read them again."
            )
        return encoding.protection_from(record)
