"""Chromium, which tests drive through the pages of the web interface."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

__all__ = ["chromium_program", "running_chromium"]

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


@contextmanager
def running_chromium(program: str) -> Iterator[Browser]:
    """Runs a browser without windows, and closes it afterwards."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()
