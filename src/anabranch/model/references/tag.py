"""Tags: immutable names of commits."""

from __future__ import annotations

import msgspec

__all__ = ["Tag"]


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag."""

    id: str
    commit_id: str
