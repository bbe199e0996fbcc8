"""Retention rules: for how many days what a branch has left behind is kept."""

from __future__ import annotations

import msgspec

__all__ = ["MAX_DAYS", "RetentionRules"]

MAX_DAYS = 2**31 - 1
"""lakeFS keeps days in 32 bits."""


class RetentionRules(msgspec.Struct, frozen=True):
    """A repository's rules: days by branch, and those of every other branch."""

    default_days: int
    branch_days: dict[str, int] = {}

    def days(self, branch: str) -> int:
        """Returns for how many days a branch keeps what it has left behind."""
        return self.branch_days.get(branch, self.default_days)
