"""Limits of the runs of hooks."""

from __future__ import annotations

import msgspec

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.hooks.output import MAX_OUTPUT_BYTES

__all__ = ["DEFAULT_ACTION_SETTINGS", "ActionSettings"]


class ActionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the runs of hooks, for each process; `hooks` concerns single hooks."""

    enabled: bool = True
    """Whether hooks run at all."""
    concurrency: int = 32
    """The number of changes that may wait for hooks at once, and that of runs after changes."""
    parallel_actions: int = 8
    """The number of actions of one event that run at once."""
    timeout: float = 900.0
    """The time for all hooks of one event, in seconds."""
    output_bytes: int = MAX_OUTPUT_BYTES
    """The maximum size of the output of one hook."""
    hooks: HookSettings = HookSettings()


DEFAULT_ACTION_SETTINGS = ActionSettings()
