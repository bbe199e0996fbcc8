"""Options of obstore that implement a `RetryPolicy`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.blocks.cloud.retry_policy import RetryPolicy

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["client_options", "retry_config"]


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
    }
