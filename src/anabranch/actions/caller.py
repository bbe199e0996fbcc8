"""The caller of a use case: the user, and the hooks by which the call was caused.

    with acting_as(Caller("alice")):
        catalog.commits.commit(...)

It is a context variable, since every use case may cause events and few have any hooks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from anabranch.errors import Conflict

__all__ = ["Caller", "acting_as", "current_caller", "require_no_loop"]

_MAX_CHAIN = 5


class Caller(msgspec.Struct, frozen=True):
    """The name of a user, and what was changed in the events whose hooks have led to the call, as
    in `Event.chain`.
    """

    username: str = ""
    chain: tuple[str, ...] = ()


_CURRENT: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039  frozen


def current_caller() -> Caller:
    """Returns the caller on whose behalf this code runs; outside of `acting_as`, one without a
    name.
    """
    return _CURRENT.get()


@contextmanager
def acting_as(caller: Caller) -> Iterator[None]:
    """Makes a caller the current one."""
    token = _CURRENT.set(caller)
    try:
        yield
    finally:
        _CURRENT.reset(token)


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
