"""The authenticated user of a request, with the user's permissions."""

from __future__ import annotations

import msgspec

from anabranch.access.statements import Statement

__all__ = ["Actor"]


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated user and the policy statements that apply to the user."""

    username: str
    email: str = ""
    statements: tuple[Statement, ...] = ()

    @property
    def committer(self) -> str:
        """The committer of the user's commits."""
        return self.email or self.username
