"""Sources of imports."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["ImportSource"]


class ImportSource(msgspec.Struct, frozen=True, kw_only=True):
    """The object at an address (`object`) with its path on the branch, or all objects whose
    addresses begin with a prefix (`common_prefix`) with the prefix of their paths.
    """

    type: Literal["common_prefix", "object"]
    path: str
    destination: str
