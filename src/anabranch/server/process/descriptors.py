"""Logs when the process has reached its limit of open files: the system then drops connections
before the server sees them.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import time

__all__ = ["watch_descriptors"]

_INTERVAL_SECONDS = 1.0
_LOG_INTERVAL_SECONDS = 60.0
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE})

_log = logging.getLogger(__name__)


async def watch_descriptors() -> None:
    """Logs an error, at most once a minute, while no file can be opened. Runs until cancelled."""
    logged = -_LOG_INTERVAL_SECONDS
    while True:
        await asyncio.sleep(_INTERVAL_SECONDS)
        error = _try_opening()
        if error is not None and time.monotonic() - logged >= _LOG_INTERVAL_SECONDS:
            logged = time.monotonic()
            limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            _log.error(
                "no file can be opened (%s): connections are dropped and requests fail; the limit"
                " of open files is %d, raise it (ulimit -n)",
                error.strerror,
                limit,
            )


def _try_opening() -> OSError | None:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error if error.errno in _EXHAUSTED else None
    return None
