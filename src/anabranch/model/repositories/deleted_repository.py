"""Deleted repositories that can still be restored."""

from __future__ import annotations

import msgspec

from anabranch.model.repositories.repository import Repository

__all__ = ["DeletedRepository"]


class DeletedRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A deleted repository, when it was deleted, in seconds since 1970, and by whom. It is kept for
    `days`. Once it is `forgotten`, its references are being removed.
    """

    repository: Repository
    deleted_at: float
    user: str = ""
    days: int = 0
    forgotten: bool = False

    @property
    def kept_until(self) -> float:
        """When it is forgotten, in seconds since 1970."""
        return self.deleted_at + self.days * 86_400
