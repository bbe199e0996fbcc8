"""Changes: the differences of single paths between two trees."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.model.objects.entry import Entry

__all__ = ["Change", "ChangeKind"]

ChangeKind = Literal["added", "removed", "changed", "conflict", "prefix_changed"]


class Change(msgspec.Struct, frozen=True):
    """The difference of one path; "prefix_changed" has no entries, "removed" only a left one."""

    kind: ChangeKind
    path: str
    left: Entry | None = None
    right: Entry | None = None
