"""The branch protection rules of a repository, stored as one record in lakeFS's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from anabranch.errors import ProtectedBranch
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.references.protection import Blocked, ProtectionRules
from anabranch.model.repositories.repository import Repository
from anabranch.patterns.glob import glob
from anabranch.versioning.records import keys, references
from anabranch.versioning.references.rule_records import (
    MAX_ATTEMPTS,
    replace_record,
    too_many_changes,
)
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["AdmitDeletion", "Protection", "StoredProtection", "WithoutApprovals"]


class StoredProtection(NamedTuple):
    """Rules with the record that they were read from, which compare-and-set compares."""

    rules: ProtectionRules
    record: bytes | None

    def unchanged(self, repository: Repository) -> Expect:
        """Returns the condition that the rules have not changed since they were read."""
        return Expect(repository.partition, keys.PROTECTION, self.record)


class Protection:
    """The branch protection rules of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def read(self, repository: Repository) -> StoredProtection:
        """Returns a repository's rules."""
        raw = self._keyvalue.get(repository.partition, keys.PROTECTION)
        return StoredProtection(references.protection_from(raw), raw)

    def replace(
        self,
        repository: Repository,
        patterns: Iterable[str],
        *,
        approvals: Mapping[str, int] = MappingProxyType({}),
        if_match: str | None = None,
    ) -> ProtectionRules:
        """Replaces all rules and returns the new ones; each blocks all actions. A pattern requires
        the number of approvals in `approvals` or, by default, the number that it required
        before.

        Raises Invalid for a malformed pattern, and PreconditionFailed if `if_match` is given and
        the current rules have another ETag.
        """
        all_actions = frozenset(Blocked)
        blocked = dict.fromkeys(patterns, all_actions)
        for pattern in blocked:
            glob(pattern)
        for _ in range(MAX_ATTEMPTS):
            stored = self.read(repository)
            required = {**stored.rules.approvals, **approvals}
            record = references.protection_bytes(blocked, required)
            unchanged, etag = stored.unchanged(repository), stored.rules.etag
            if replace_record(self._keyvalue, unchanged, record, etag=etag, if_match=if_match):
                return references.protection_from(record)
        raise too_many_changes()

    def admission(self, repository: Repository, branch: str) -> WithoutApprovals:
        """Returns what admits a change of a branch without a pull request, on condition that the
        rules do not change meanwhile. Raises ProtectedBranch, at once or when the change is made,
        if a rule requires approvals.
        """
        known = self.require_no_approvals(repository, branch)
        return WithoutApprovals(self, repository, branch, known)

    def require_no_approvals(self, repository: Repository, branch: str) -> StoredProtection:
        """Returns the rules of a repository. Raises ProtectedBranch if one of them requires
        approvals for changes of a branch.
        """
        stored = self.read(repository)
        required = stored.rules.required_approvals(branch)
        if required:
            raise ProtectedBranch(
                f"cannot change protected branch {branch} without a pull request",
                kind="pull_request_required",
                hint=f"Its rule requires {required} approval{'s' if required > 1 else ''}. Create "
                "a pull request from another branch, and merge it when it is approved.",
            )
        return stored

    def admit_deletion(self, repository: Repository, branch: str) -> ExtraWrites:
        """Returns what admits the deletion of a branch, on condition that the rules do not change
        meanwhile. Raises ProtectedBranch if a rule requires approvals: the branch could be created
        again from any commit.
        """
        stored = self.read(repository)
        if stored.rules.required_approvals(branch):
            raise ProtectedBranch(
                f"cannot delete protected branch {branch}",
                kind="pull_request_required",
                hint="Its rule requires approvals. Change the rule first.",
            )
        return (), [stored.unchanged(repository)]


class WithoutApprovals:
    """Admits changes of a branch that no pull request makes. The first attempt uses the rules that
    were read before it, `known`.
    """

    def __init__(
        self,
        protection: Protection,
        repository: Repository,
        branch: str,
        known: StoredProtection,
    ) -> None:
        self._protection = protection
        self._repository = repository
        self._branch = branch
        self._known: StoredProtection | None = known

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the condition that the rules do not change. Raises ProtectedBranch."""
        stored, self._known = self._known, None
        if stored is None:
            stored = self._protection.require_no_approvals(self._repository, self._branch)
        return (), [stored.unchanged(self._repository)]


class AdmitDeletion(msgspec.Struct, frozen=True):
    """Admits the deletion of a branch."""

    protection: Protection
    repository: Repository
    branch: str

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the conditions. Raises as `Protection.admit_deletion` does."""
        return self.protection.admit_deletion(self.repository, self.branch)
