"""Runs of the hooks of one event, and runs of single hooks."""

from __future__ import annotations

import msgspec

__all__ = ["HookRun", "Run", "hook_run_id"]


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of a run: the times, in seconds since 1970, are 0 for a hook that was skipped."""

    run_id: str
    hook_run_id: str
    hook_id: str
    action: str
    started: float = 0
    ended: float = 0
    passed: bool = False

    @property
    def skipped(self) -> bool:
        """Whether the hook did not run."""
        return not self.started


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks that ran on one event; times are in seconds since 1970. `commit_id` is empty if the
    event has no commit, and if the hooks have refused it; a refused merge has one.
    """

    id: str
    event: str
    branch: str = ""
    source_ref: str = ""
    commit_id: str = ""
    started: float
    ended: float = 0
    passed: bool = False


def hook_run_id(action: int, hook: int) -> str:
    """Returns the id of a hook in its run, by the numbers of its action and in that."""
    return f"{action:04d}_{hook:04d}"
