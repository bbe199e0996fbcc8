"""Changes: the differences of single paths between two trees."""

from __future__ import annotations

from typing import Any, Literal

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

    def cells(self) -> dict[str, Any]:
        """Returns what a table of changes shows."""
        left, right = (None if side is None else side.size for side in (self.left, self.right))
        return {"kind": self.kind, "path": self.path, "bytes before": left, "bytes after": right}
