"""A branch: a name that moves, with a staging area of its own."""

from __future__ import annotations

import msgspec

__all__ = ["Branch"]


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A branch. New changes go under `staging_token`; `sealed_tokens`, newest first, hold changes
    that a commit has begun to take in. A token names a key-value partition.
    """

    id: str
    commit_id: str
    staging_token: str
    sealed_tokens: tuple[str, ...] = ()
    hidden: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        """All staging tokens, the newest first: an earlier one hides what later ones hold."""
        return (self.staging_token, *self.sealed_tokens)
