"""Pages of listings that leave out what a user may not see."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Protocol, TypeVar

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Permission
from anabranch.brevity import about_to_take_long
from anabranch.model.page import Page

__all__ = ["ReadPage", "visible_items"]

Item = TypeVar("Item")

_BRIEF_PAGES = 2
"""A page of visible items and one to see whether more follow: as many are read at least."""
_BRIEF_SECONDS = 0.002
"""A decision takes some microseconds, with thousands of statements some hundred."""


class ReadPage(Protocol[Item]):
    """Reads pages of a listing."""

    def __call__(self, *, after: str, amount: int) -> Page[Item]:
        """Returns at most `amount` items after a name."""


def visible_items(
    read: ReadPage[Item],
    actor: Actor | None,
    name: Callable[[Item], str],
    needed: Callable[[str], Permission],
    *,
    after: str,
    amount: int,
) -> Page[Item]:
    """Returns at most `amount` items after a name, and whether more follow: those for whose names
    the user has the `needed` permission. An anonymous user sees none.
    """
    if actor is None:
        return Page([])
    if actor.is_unlimited:
        return read(after=after, amount=amount)
    visible: list[Item] = []
    has_more, pages, began = True, 0, perf_counter()
    while has_more:
        if pages == _BRIEF_PAGES:
            about_to_take_long()
        page = read(after=after, amount=amount)
        for item in page.items:
            if perf_counter() - began > _BRIEF_SECONDS:
                about_to_take_long()
            if not actor.may(needed(name(item))):
                continue
            if len(visible) == amount:
                return Page(visible, has_more=True, next_offset=name(visible[-1]))
            visible.append(item)
        after, has_more, pages = page.next_offset, page.has_more, pages + 1
    return Page(visible)
