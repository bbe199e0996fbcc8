"""A tag: a name for a commit that does not move."""

from __future__ import annotations

import msgspec

__all__ = ["Tag"]


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """A tag."""

    id: str
    commit_id: str
