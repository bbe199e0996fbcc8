"""Branches: movable names of commits, each with a staging area."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Branch", "ResetKind"]

ResetKind = Literal["reset", "common_prefix", "object"]
"""Which uncommitted changes a reset drops: all, those under a prefix, or one object's."""


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch. New changes are written to the area `staging_token`; `sealed_tokens`, newest first,
    name the areas whose changes a commit is applying. A token is a key-value partition. From
    `expires_at` on, in seconds since 1970, the branch cannot be changed and is deleted; 0 is never.
    """

    id: str
    commit_id: str
    staging_token: str
    sealed_tokens: tuple[str, ...] = ()
    hidden: bool = False
    expires_at: int = 0

    @property
    def tokens(self) -> tuple[str, ...]:
        """All staging tokens, the newest first; changes in an earlier one override later ones."""
        return (self.staging_token, *self.sealed_tokens)
