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

__all__ = ["UNKNOWN", "Caller", "Principal", "acting_as", "current_caller"]


class Principal(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user by name, time of creation in seconds since 1970 (0 if unknown), and the random id of
    the user's record ("" for records of earlier versions): a later user of the name is another one.
    The name "" is that of programs that open the stores themselves.

    If the server has not `recorded` the user, the name is the text of a commit's committer, and
    `created_at` the time of the commit: the user was created before it. A text from `elsewhere`
    may name no user of this server.
    """

    username: str
    created_at: int = 0
    recorded: bool = True
    elsewhere: bool = False
    record_id: str = ""


UNKNOWN = Principal("", recorded=False)
"""A principal that is no user."""


class Caller(msgspec.Struct, frozen=True):
    """The name of a user, and what was changed in the events whose hooks have led to the call, as
    in `Event.chain`. What a hook does is also attributed to `others`, who wrote its code: it may
    do no more than each of them. `workspace` is the branch to which the keys of the call are
    confined, if they are those of a workspace, and `workspace_key` their access key.
    """

    username: str = ""
    chain: tuple[str, ...] = ()
    created_at: int = 0
    others: tuple[Principal, ...] = ()
    record_id: str = ""
    action: str = ""
    request_id: str = ""
    workspace: str = ""
    workspace_key: str = ""

    @property
    def principals(self) -> tuple[Principal, ...]:
        """All to whom the call is attributed, each once; the user is the first."""
        user = Principal(self.username, self.created_at, record_id=self.record_id)
        return tuple(dict.fromkeys((user, *self.others)))


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
