"""Calls that must be brief, since others wait for the same thread, but may turn out not to be.

    with brief():
        respond()          raises TakesLong where it finds that it would take long

    with deciding_briefly():
        respond()          raises TakesLong where it finds that to decide on rights would take long

Code whose duration a client or its data choose, such as hooks or a walk through history, calls
`about_to_take_long()` first. If that raises, the caller of `brief` does the work again on a thread
of its own. So nothing may have been changed by then. Rights are decided before anything else, so
that requests that change something at once, or are recorded, can be given up there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TypeVar

__all__ = [
    "BRIEF_BYTES",
    "BriefBytes",
    "TakesLong",
    "about_to_decide_long",
    "about_to_take_long",
    "brief",
    "deciding_briefly",
    "while_brief",
]

BRIEF_BYTES = 1 << 20
"""How much is read and returned briefly: each MiB takes about two milliseconds."""

Item = TypeVar("Item")

_must_be_brief: ContextVar[bool] = ContextVar("brief", default=False)
_must_decide_briefly: ContextVar[bool] = ContextVar("deciding briefly", default=False)


class TakesLong(BaseException):
    """Raised in place of long work. It is no error: nothing that handles errors may take it."""


class _Forbidden:
    """Sets a variable within the context. Each request enters one, which takes a generator three
    times as long.
    """

    __slots__ = ("_token", "_variable")

    def __init__(self, variable: ContextVar[bool]) -> None:
        self._variable = variable

    def __enter__(self) -> None:
        self._token = self._variable.set(True)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def brief() -> AbstractContextManager[None]:
    """Within the context, this call raises TakesLong instead of doing what may take long."""
    return _Forbidden(_must_be_brief)


def deciding_briefly() -> AbstractContextManager[None]:
    """Within the context, this call raises TakesLong where a decision on rights may take long."""
    return _Forbidden(_must_decide_briefly)


def about_to_decide_long() -> None:
    """Must be called before decisions on rights that may take long, before anything is recorded.
    Raises TakesLong where the call, or its decisions, must be brief.
    """
    if _must_decide_briefly.get() or _must_be_brief.get():
        raise TakesLong


def about_to_take_long() -> None:
    """Must be called before what may take long. Raises TakesLong where the call must be brief."""
    if _must_be_brief.get():
        raise TakesLong


class BriefBytes:
    """Bounds what one call reads or makes; clients choose its size."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = BRIEF_BYTES

    def add(self, size: int) -> None:
        """Counts bytes. Raises TakesLong where the call must be brief, once they are more than
        BRIEF_BYTES in all.
        """
        self._left -= size
        if self._left < 0:
            about_to_take_long()


def while_brief(items: Iterable[Item], size: Callable[[Item], int]) -> Iterable[Item]:
    """Returns the items of a page, whose sizes in bytes clients choose; where the call must be
    brief, iteration raises TakesLong once they have more than BRIEF_BYTES in all.
    """
    return _counted(items, size) if _must_be_brief.get() else items


def _counted(items: Iterable[Item], size: Callable[[Item], int]) -> Iterator[Item]:
    bound = BriefBytes()
    for item in items:
        bound.add(size(item))
        yield item
