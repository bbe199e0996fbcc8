"""Protection of branches: its rules read and set, and asked before a branch is changed directly.

Every write asks, so rules are remembered for a second. Rules that are set hold at once in the
process that sets them, and within that second in every other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from anabranch.access.expiring import Expiring
from anabranch.errors import Invalid, ProtectedBranch, ReadOnlyRepository
from anabranch.model.protection import Blocked, ProtectionRules
from anabranch.model.repository import Repository
from anabranch.versioning.core import Core

__all__ = ["SECONDS", "Protection"]

SECONDS = 1.0
"""How long rules are remembered."""

_REMEMBERED = 4096


class Protection:
    """The use cases of branch protection. `ticks` is a clock that never goes back, in seconds."""

    def __init__(self, core: Core, ticks: Callable[[], float] = time.monotonic) -> None:
        self._core = core
        self._ticks = ticks
        self._known: Expiring[str, ProtectionRules] = Expiring(_REMEMBERED, ticks)

    def rules(self, repository: str) -> ProtectionRules:
        """Returns a repository's rules as they are now."""
        return self._core.protection.read(self._core.repositories.get(repository))

    def replace(
        self, repository: str, patterns: Iterable[str], *, if_match: str | None = None
    ) -> ProtectionRules:
        """Puts rules in place of all that are there.

        Raises PreconditionFailed unless what is there has the ETag `if_match`, if one is given
        (empty where no rules were ever set); Invalid, and ReadOnlyRepository, which nothing forces.
        """
        found = self._core.repositories.get(repository)
        if found.read_only:
            raise ReadOnlyRepository("read-only repository", hint="")
        rules = self._core.protection.replace(found, patterns, if_match=if_match)
        self._remember(found, rules)
        return rules

    def require_writable(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if nothing may be staged on a branch, or taken from there."""
        self._require(repository, branch, Blocked.STAGING_WRITE, "cannot write to protected branch")

    def require_committable(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if what is staged on a branch may not be committed."""
        self._require(repository, branch, Blocked.COMMIT, "cannot commit to protected branch")

    def require_unprotected(self, repository: Repository, branch: str) -> None:
        """Raises ProtectedBranch if anything at all is blocked on a branch."""
        for what in Blocked:
            self._require(repository, branch, what, "protected branch")

    def _require(self, repository: Repository, branch: str, what: Blocked, message: str) -> None:
        rules = self._known.get(repository.partition)
        if rules is None:
            rules = self._core.protection.read(repository)
            self._remember(repository, rules)
        try:
            blocked = rules.blocks(branch, what)
        except Invalid as error:
            # which branches it was meant for cannot be known, so it holds for all
            raise ProtectedBranch(message, hint=f"Set the rules anew: {error.message}") from error
        if blocked:
            raise ProtectedBranch(message)

    def _remember(self, repository: Repository, rules: ProtectionRules) -> None:
        self._known.put(repository.partition, rules, self._ticks() + SECONDS)
