"""Cache in front of a library's credentials, for use before every request.

The libraries refresh their credentials in time, but asking one of them takes up to 0.1 ms. It is
therefore asked at most once in `CHECK_INTERVAL`. A thread that finds another one asking uses the
credential of the last time, so a slow identity service delays no request while that is valid.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["CHECK_INTERVAL", "RENEWAL_INTERVAL", "RefreshedCredential"]

CHECK_INTERVAL = 10.0
"""In seconds; libraries refresh credentials minutes before they expire."""

RENEWAL_INTERVAL = 1.0
"""In seconds. A store may refuse many requests at once, and looking for credentials takes time."""

_Credential = TypeVar("_Credential")


class RefreshedCredential(Generic[_Credential]):
    """Calls `fetch` for the current credential at most once in `check_interval`, in seconds. Errors
    that it raises are not cached. `forget` makes it look for the credential anew.
    """

    def __init__(
        self,
        fetch: Callable[[], _Credential],
        *,
        forget: Callable[[], None] = lambda: None,
        check_interval: float = CHECK_INTERVAL,
    ) -> None:
        self._fetch = fetch
        self._forget = forget
        self._check_interval = check_interval
        self._lock = threading.Lock()
        self._cached: tuple[_Credential, float] | None = None
        self._next_renewal = 0.0

    def __call__(self) -> _Credential:
        """Returns the current credential. Raises what `fetch` raises."""
        cached = self._cached
        if cached is not None and time.monotonic() < cached[1]:
            return cached[0]
        if not self._lock.acquire(blocking=cached is None):
            assert cached is not None  # noqa: S101  for the type checker
            return cached[0]
        try:
            fetched_meanwhile = self._cached
            if fetched_meanwhile is not None and fetched_meanwhile is not cached:
                return fetched_meanwhile[0]
            return self._fetch_and_cache()
        finally:
            self._lock.release()

    def renew(self, refused: _Credential) -> _Credential:
        """Returns the current credential, which is looked for anew if it is still the one that was
        refused, at most once in `RENEWAL_INTERVAL`. Raises what `fetch` raises.
        """
        with self._lock:
            if self._cached is not None and self._cached[0] != refused:
                return self._cached[0]
            if time.monotonic() < self._next_renewal:
                return refused
            self._next_renewal = time.monotonic() + RENEWAL_INTERVAL
            self._forget()
            return self._fetch_and_cache()

    def _fetch_and_cache(self) -> _Credential:
        credential = self._fetch()
        self._cached = credential, time.monotonic() + self._check_interval
        return credential
