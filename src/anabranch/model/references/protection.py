"""Branch protection rules: patterns of branch names, and the direct changes that they block.

Protected branches are changed by merges, reverts and cherry-picks; by merges of pull requests only,
if the rule requires approvals.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from anabranch.patterns.glob import about_to_match, glob

__all__ = ["MAX_REQUIRED_APPROVALS", "NO_RULES", "Blocked", "ProtectionRules"]

MAX_REQUIRED_APPROVALS = 10


class Blocked(IntEnum):
    """An action that a rule blocks, with lakeFS's number."""

    STAGING_WRITE = 0
    COMMIT = 1


class ProtectionRules(msgspec.Struct, frozen=True):
    """A repository's rules: the actions that each pattern blocks, and the number of approvals that
    it requires, if any. `etag` identifies this version of the rules, and is empty if none were ever
    set.
    """

    blocked: dict[str, frozenset[Blocked]]
    etag: str
    approvals: dict[str, int] = {}

    @property
    def patterns(self) -> list[str]:
        """The patterns in order."""
        return sorted(self.blocked)

    def blocks(self, branch: str, action: Blocked) -> bool:
        """Returns whether a rule blocks an action on a branch.

        Raises Invalid for a malformed pattern, which only another program can have stored.
        """
        return any(
            action in blocked and glob(pattern).matches(branch)
            for pattern, blocked in self.blocked.items()
        )

    def required_approvals(self, branch: str) -> int:
        """Returns how many approvals a pull request into a branch needs: the largest number of all
        rules that match.

        Raises Invalid for a malformed pattern.
        """
        about_to_match(self.approvals, branch)
        matching = (
            number for pattern, number in self.approvals.items() if glob(pattern).matches(branch)
        )
        return max(matching, default=0)


NO_RULES = ProtectionRules({}, "")
