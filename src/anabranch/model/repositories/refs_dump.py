"""Reference dumps: the trees that hold a repository's commits, branches and tags."""

from __future__ import annotations

import msgspec

__all__ = ["RefsDump"]


class RefsDump(msgspec.Struct, frozen=True, kw_only=True):
    """A dump of a repository's references: the metarange ids of three trees in its storage
    namespace. See `versioning.records.dumps` for their records.
    """

    commits: str
    branches: str
    tags: str
