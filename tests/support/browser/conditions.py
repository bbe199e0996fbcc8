"""The network and the processor of a page; waits for what its script says, and for the end of its
requests.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from support.eventually import TIMEOUT_SECONDS, eventually

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page, Request

_QUIET_SECONDS = 0.3
_LOST_SECONDS = 10
_NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))"

_sessions: WeakKeyDictionary[Page, CDPSession] = WeakKeyDictionary()


def limit_network(
    page: Page, *, latency_ms: int = 0, upload_bytes_per_second: int | None = None
) -> None:
    """Has responses to a page come later and its uploads take longer, instead of earlier limits."""
    conditions = {
        "offline": False,
        "latency": latency_ms,
        "downloadThroughput": -1,
        "uploadThroughput": upload_bytes_per_second or -1,
    }
    session = _session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", conditions)


def limit_processor(page: Page, *, rate: float) -> None:
    """Has the scripts of a page run `rate` times slower."""
    _session(page).send("Emulation.setCPUThrottlingRate", {"rate": rate})


def is_limited(page: Page) -> bool:
    """Returns whether the network or the processor of a page was limited."""
    return page in _sessions


def _session(page: Page) -> CDPSession:
    """Returns the page's only session: of two, one would not limit anything."""
    if page not in _sessions:
        _sessions[page] = page.context.new_cdp_session(page)
    return _sessions[page]


def wait_until(page: Page, expression: str, arg: Any = None) -> None:
    """Returns when an expression is true in a page; raises AssertionError if it stays false.

    `Page.wait_for_function` evaluates in the page itself after the first time, which our
    Content-Security-Policy forbids: it fails wherever it would have had to wait.
    """
    eventually(lambda: page.evaluate(expression, arg))


class _Traffic:
    """The requests of a page, from when it is opened."""

    def __init__(self, page: Page) -> None:
        self._running: dict[Request, float] = {}
        self._latest = time.monotonic()
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    def _begin(self, request: Request) -> None:
        self._latest = self._running[request] = time.monotonic()

    def _end(self, request: Request) -> None:
        self._latest = time.monotonic()
        self._running.pop(request, None)

    def has_ended(self) -> bool:
        now = time.monotonic()
        waiting = any(now < began + _LOST_SECONDS for began in self._running.values())
        return not waiting and now > self._latest + _QUIET_SECONDS


_traffic: WeakKeyDictionary[Page, _Traffic] = WeakKeyDictionary()


def watch_requests(page: Page) -> None:
    """Watches the requests of a page, so that `settle` can wait for their end."""
    _traffic[page] = _Traffic(page)


def settle(page: Page, *, scripts: bool = True) -> None:
    """Returns when a page has nothing to request or to draw for a moment; `scripts` is whether it
    may run any, of ours too.

    The load state `networkidle` waits for ever for a request whose end the browser does not tell,
    which happens to those of a frame that is removed; here it counts for ten seconds.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        while not _traffic[page].has_ended():
            assert time.monotonic() < deadline, f"requests did not end within {TIMEOUT_SECONDS} s"
            page.wait_for_timeout(20)
        if not scripts:
            return
        page.evaluate(_NEXT_FRAME)
        if _traffic[page].has_ended():
            return
