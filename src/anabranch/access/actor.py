"""Who asks: the user behind a request, with what the user may."""

from __future__ import annotations

import msgspec

from anabranch.access.statements import Statement

__all__ = ["Actor"]


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """A user who has been recognised, and the statements that hold for the user."""

    username: str
    email: str = ""
    statements: tuple[Statement, ...] = ()

    @property
    def committer(self) -> str:
        """The name that the user's commits carry."""
        return self.email or self.username
