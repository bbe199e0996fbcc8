"""Options of obstore that implement a `RetryPolicy`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.blocks.cloud.retry_policy import FIRST_BACKOFF, MAX_BACKOFF, RetryPolicy

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["client_options", "retry_config"]

_BASE = 4.0
"""Each wait is a random time up to this many times the last one. With obstore's default of 2, waits
do not grow, but stay below a second: 60 retries took half a minute.
"""


def client_options(retry_policy: RetryPolicy, endpoint: str) -> ClientConfig:
    """Returns the options of connections: the total time of a response is not limited, the wait for
    its next bytes is.
    """
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=retry_policy.connect_timeout),
        "read_timeout": timedelta(seconds=retry_policy.read_timeout),
        "timeout": timedelta(days=1),
    }


def retry_config(retry_policy: RetryPolicy) -> RetryConfig:
    """Returns the limits of obstore's own retries."""
    return {
        "max_retries": retry_policy.retries,
        "retry_timeout": timedelta(seconds=retry_policy.deadline),
        "backoff": {
            "init_backoff": timedelta(seconds=FIRST_BACKOFF),
            "max_backoff": timedelta(seconds=MAX_BACKOFF),
            "base": _BASE,
        },
    }
