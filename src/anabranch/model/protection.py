"""Branch protection rules: patterns of branch names, and the direct changes that they block.

Merges, reverts and cherry-picks are never blocked: protected branches are changed by them.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from anabranch.model.glob import glob

__all__ = ["NO_RULES", "Blocked", "ProtectionRules"]


class Blocked(IntEnum):
    """An action that a rule blocks, with lakeFS's number."""

    STAGING_WRITE = 0
    COMMIT = 1


class ProtectionRules(msgspec.Struct, frozen=True):
    """A repository's rules: the actions that each pattern blocks. `etag` identifies this version of
    the rules, and is empty if none were ever set.
    """

    blocked: dict[str, frozenset[Blocked]]
    etag: str

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


NO_RULES = ProtectionRules({}, "")
