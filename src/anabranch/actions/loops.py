"""Loops of hooks: a hook must not make a change that runs it again."""

from __future__ import annotations

from anabranch.errors import Conflict
from anabranch.model.caller import Caller

__all__ = ["require_no_loop"]

_MAX_CHAIN = 5


def require_no_loop(caller: Caller, subject: str) -> None:
    """Raises Conflict (kind hook_loop) if a hook makes a change that would run it again: one of
    what it is run for, or one at the end of a long chain of hooks.
    """
    if subject in caller.chain:
        raise Conflict(
            f"a hook that runs on a change of {subject} must not change it: "
            "the change would run the hook again",
            kind="hook_loop",
            hint="Let the hook write to another branch; before a commit, prepare-commit may write "
            "objects to its own.",
        )
    if len(caller.chain) >= _MAX_CHAIN:
        raise Conflict(
            f"hooks have caused {len(caller.chain)} changes in a row: {', '.join(caller.chain)}",
            kind="hook_loop",
            hint="Let fewer hooks make changes that run other hooks.",
        )
