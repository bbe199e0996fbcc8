"""Actions: what an action file declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.actions.files.conditions import Condition
from anabranch.actions.files.events import EventType
from anabranch.patterns.branch_pattern import branch_pattern

__all__ = ["Action", "HookSpec"]


class HookSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of an action: its id, its type with the properties that this has, the condition on
    which it runs, and the line of the file where it begins.
    """

    id: str
    type: str
    description: str = ""
    condition: Condition
    properties: Mapping[str, Any] = {}
    line: int = 1


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """A named list of hooks, and the events on which they run. `on` has, for each event, the
    patterns of the branches that it concerns; without any it concerns all. `address` is that of
    the file's entry.
    """

    name: str
    file: str
    description: str = ""
    on: Mapping[EventType, Sequence[str]]
    hooks: Sequence[HookSpec]
    address: str = ""

    def runs_on(self, event: EventType, branch: str) -> bool:
        """Returns whether the action's hooks run on an event of a branch, "" for a tag's."""
        patterns = self.on.get(event)
        if patterns is None:
            return False
        return not patterns or any(branch_pattern(each).matches(branch) for each in patterns)
