"""Rules that protect branches: patterns of names, and what they keep from being done directly.

Merges, reverts and cherry-picks are never kept away: they are how a protected branch changes.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

from anabranch.model.glob import glob

__all__ = ["NO_RULES", "Blocked", "ProtectionRules"]


class Blocked(IntEnum):
    """What a rule blocks, by lakeFS's numbers."""

    STAGING_WRITE = 0
    COMMIT = 1


class ProtectionRules(msgspec.Struct, frozen=True):
    """A repository's rules: what each pattern blocks. `etag` tells these rules from others, and
    is empty where none were ever set.
    """

    blocked: dict[str, frozenset[Blocked]]
    etag: str

    @property
    def patterns(self) -> list[str]:
        """The patterns in order."""
        return sorted(self.blocked)

    def blocks(self, branch: str, what: Blocked) -> bool:
        """Returns whether some rule blocks that on a branch.

        Raises Invalid for a pattern that cannot be read, which only another program has stored.
        """
        return any(
            what in blocked and glob(pattern).matches(branch)
            for pattern, blocked in self.blocked.items()
        )


NO_RULES = ProtectionRules({}, "")
