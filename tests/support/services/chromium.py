"""Chromium, which tests drive through the pages of the web interface.

Playwright runs an event loop in the thread of its caller, which then seems to be within that loop:
`asyncio.run` refuses to work there. So the loop is the thread's running loop only while a test
drives the browser.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

__all__ = ["Chromium", "chromium_program", "running_chromium"]

_OPTIONS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_program() -> str | None:
    """Returns the browser's path, None if it is not installed."""
    return shutil.which("chromium")


class Chromium:
    """A running browser. Other tests can use `asyncio` in this thread except within `driven`."""

    def __init__(self, browser: Browser, loop: asyncio.AbstractEventLoop) -> None:
        self._browser = browser
        self._loop = loop

    @contextmanager
    def driven(self) -> Iterator[Browser]:
        """Yields the browser."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            asyncio._set_running_loop(None)


@contextmanager
def running_chromium(program: str) -> Iterator[Chromium]:
    """Runs a browser without windows, and closes it afterwards."""
    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        browser = playwright.chromium.launch(executable_path=program, args=list(_OPTIONS))
        asyncio._set_running_loop(None)
        try:
            yield Chromium(browser, loop)
        finally:
            asyncio._set_running_loop(loop)
            browser.close()
