"""Use cases of branch protection: read and set rules, check them before a direct change.

Each write checks the rules, so they are cached for a second. New rules take effect at once in the
process that sets them, and within that second in all others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from anabranch.access.sessions.ttl_cache import TTLCache
from anabranch.errors import Invalid, ProtectedBranch, ReadOnlyRepository
from anabranch.model.references.protection import MAX_REQUIRED_APPROVALS, Blocked, ProtectionRules
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["CACHE_SECONDS", "Protection"]

CACHE_SECONDS = 1.0
"""How long rules are cached, in seconds."""

_CACHE_SIZE = 4096


class Protection:
    """Use cases of branch protection. `ticks` is a monotonic clock, in seconds."""

    def __init__(self, core: Core, ticks: Callable[[], float] = time.monotonic) -> None:
        self._core = core
        self._ticks = ticks
        self._cache: TTLCache[str, ProtectionRules] = TTLCache(_CACHE_SIZE, ticks)

    def rules(self, repository: str) -> ProtectionRules:
        """Returns the current rules of a repository, uncached."""
        return self._core.protection.read(self._core.repositories.get(repository)).rules

    def replace(
        self,
        repository: str,
        patterns: Iterable[str],
        *,
        approvals: Mapping[str, int] = MappingProxyType({}),
        if_match: str | None = None,
    ) -> ProtectionRules:
        """Replaces all rules of a repository. `approvals` has the numbers of approvals that pull
        requests need, by pattern; a pattern that is not there keeps its number.

        Raises PreconditionFailed unless the current rules have the ETag `if_match`, if it is given
        (empty for rules that were never set); Invalid for a bad pattern or number;
        ReadOnlyRepository, which no caller can override.
        """
        for number in approvals.values():
            if not 0 <= number <= MAX_REQUIRED_APPROVALS:
                raise Invalid(
                    f"argument required_approvals: {number} is not between 0 and "
                    f"{MAX_REQUIRED_APPROVALS}: validation error",
                    kind="invalid_required_approvals",
                )
        stored_repository = self._core.repositories.get(repository)
        if stored_repository.read_only:
            raise ReadOnlyRepository("read-only repository", hint="")
        rules = self._core.protection.replace(
            stored_repository, patterns, approvals=approvals, if_match=if_match
        )
        self._cache_rules(stored_repository, rules)
        return rules

    def require_writable(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if changes must not be staged on a branch or reset."""
        self._require(repository, branch, Blocked.STAGING_WRITE, "cannot write to protected branch")

    def require_committable(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if changes must not be committed to a branch."""
        self._require(repository, branch, Blocked.COMMIT, "cannot commit to protected branch")

    def require_unprotected(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if any action is blocked on a branch."""
        for action in Blocked:
            self._require(repository, branch, action, "protected branch")

    def _require(self, repository: Repository, branch: str, action: Blocked, message: str) -> None:
        rules = self._cache.get(repository.partition)
        if rules is None:
            rules = self._core.protection.read(repository).rules
            self._cache_rules(repository, rules)
        try:
            blocked = rules.blocks(branch, action)
        except Invalid as error:
            # an unreadable pattern may be meant for any branch, so it protects all
            raise ProtectedBranch(message, hint=f"Replace the rules: {error.message}") from error
        if blocked:
            raise ProtectedBranch(message)

    def _cache_rules(self, repository: Repository, rules: ProtectionRules) -> None:
        self._cache.put(repository.partition, rules, self._ticks() + CACHE_SECONDS)
