"""Waits for what the script of a page says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.eventually import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Page


def wait_until(page: Page, expression: str, arg: Any = None) -> None:
    """Returns when an expression is true in a page; raises AssertionError if it stays false.

    `Page.wait_for_function` evaluates in the page itself after the first time, which our
    Content-Security-Policy forbids: it fails wherever it would have had to wait.
    """
    eventually(lambda: page.evaluate(expression, arg))
