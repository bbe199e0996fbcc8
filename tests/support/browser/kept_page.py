"""A page of the browser that tests use one after the other.

A page in a context of its own costs half a second of the processor: a process is started, and all
scripts are compiled for it. The next document of the same page costs a third of that, as when a
user goes from page to page. Whatever a test leaves behind (cookies, storage, the size, the media)
is taken away; a page that has more (listeners, routes, other pages) is closed, and the next test
gets a new one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Error

from support.browser.conditions import is_limited

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["KeptPage"]

_CLEAR = "() => { localStorage.clear(); sessionStorage.clear(); }"


class KeptPage:
    """The page at one server that is free, if there is one."""

    def __init__(self, place: str) -> None:
        """`place` is the address of a small file of the server, where the page waits."""
        self._place = place
        self._free: Page | None = None
        self._state: Any = None
        self._size: Any = None

    def take(self) -> Page | None:
        """Returns the page, which nobody is signed in at; None if a new one must be opened."""
        page, self._free = self._free, None
        return page

    def watch(self, page: Page) -> None:
        """Remembers the state of a page that a test is about to get."""
        self._state = _state(page)
        self._size = page.viewport_size

    def is_clean(self, page: Page) -> bool:
        """Returns whether all can be taken away that a test has left."""
        return not page.is_closed() and not is_limited(page) and _state(page) == self._state

    def give_back(self, page: Page, *, clean: bool) -> None:
        """Keeps a page that a test has used, or closes its context, if it is not clean."""
        try:
            if clean:
                page.goto(self._place)
                page.evaluate(_CLEAR)
                page.context.clear_cookies()
                page.emulate_media(
                    media="null",
                    color_scheme="light",
                    reduced_motion="no-preference",
                    forced_colors="none",
                    contrast="no-preference",
                )
                page.mouse.move(0, 0)
                if page.viewport_size != self._size:
                    page.set_viewport_size(self._size)
                self._free = page
        except Error:  # it crashed, or was closed
            self._free = None
        if self._free is None:
            page.context.close()


def _state(page: Page) -> Any:
    """Returns what a test can change of a page and its context beside what they show."""
    context = page.context
    own, contexts = page._impl_obj, context._impl_obj
    kinds = Counter(type(each).__name__ for each in contexts._objects.values())
    return (
        [len(context.pages), kinds["CDPSession"]],
        [_listeners(own), _listeners(contexts)],
        [len(each._routes) + len(each._web_socket_routes) for each in (own, contexts)],
        [len(each._bindings) for each in (own, contexts)],
    )


def _listeners(emitter: Any) -> dict[str, int]:
    return {
        name: len(found) if isinstance(found, list) else 1
        for name, found in emitter._events.items()
        if found
    }
