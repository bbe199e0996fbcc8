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

from playwright.sync_api import Browser, Playwright, sync_playwright

__all__ = [
    "Chromium",
    "Driver",
    "chromium_program",
    "headless_shell_program",
    "running_chromium",
    "running_driver",
]

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


def headless_shell_program() -> str | None:
    """Returns the path of Chromium's headless shell, which has the same engine, draws nothing on a
    screen, shows no PDF, and takes half of the time; of Chromium where only that is installed.
    """
    return shutil.which("chromium-headless-shell") or chromium_program()


class Chromium:
    """A running browser. Other tests can use `asyncio` in this thread except within `driven`."""

    def __init__(self, browser: Browser, loop: asyncio.AbstractEventLoop) -> None:
        self._browser = browser
        self._loop = loop

    @contextmanager
    def driven(self) -> Iterator[Browser]:
        """Yields the browser."""
        with _running(self._loop):
            yield self._browser


class Driver:
    """A running Playwright, which starts browsers without windows. Tests that drive them pause for
    `pause_ms` milliseconds after each action.
    """

    def __init__(
        self, playwright: Playwright, loop: asyncio.AbstractEventLoop, pause_ms: float
    ) -> None:
        self._playwright = playwright
        self._loop = loop
        self._pause_ms = pause_ms

    def start(self, program: str) -> Chromium:
        """Starts a browser, which ends with Playwright."""
        with _running(self._loop):
            browser = self._playwright.chromium.launch(
                executable_path=program, args=list(_OPTIONS), slow_mo=self._pause_ms
            )
        return Chromium(browser, self._loop)


@contextmanager
def running_driver(*, pause_ms: float = 0) -> Iterator[Driver]:
    """Runs Playwright; ends it and its browsers afterwards."""
    with sync_playwright() as playwright:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        try:
            yield Driver(playwright, loop, pause_ms)
        finally:
            asyncio._set_running_loop(loop)


@contextmanager
def running_chromium(program: str) -> Iterator[Chromium]:
    """Runs a browser without windows, and ends it afterwards."""
    with running_driver() as driver:
        yield driver.start(program)


@contextmanager
def _running(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(None)
