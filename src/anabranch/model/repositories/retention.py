"""Retention rules: how many days replaced and deleted objects of a branch are kept."""

from __future__ import annotations

import msgspec

__all__ = ["MAX_DAYS", "RetentionRules"]

MAX_DAYS = 2**31 - 1
"""lakeFS stores days in 32 bits."""


class RetentionRules(msgspec.Struct, frozen=True):
    """A repository's rules: days for particular branches, and for all others."""

    default_days: int
    branch_days: dict[str, int] = {}

    def days(self, branch: str) -> int:
        """Returns how many days replaced and deleted objects of a branch are kept."""
        return self.branch_days.get(branch, self.default_days)
