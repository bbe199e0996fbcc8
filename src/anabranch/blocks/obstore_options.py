"""How obstore connects, waits and tries again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from anabranch.blocks.patience import Patience

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

__all__ = ["client_options", "retry_config"]


def client_options(patience: Patience, endpoint: str) -> ClientConfig:
    """Returns how obstore connects: an answer may take any time as long as it goes on."""
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=patience.connect_seconds),
        "read_timeout": timedelta(seconds=patience.silence_seconds),
        "timeout": timedelta(days=1),
    }


def retry_config(patience: Patience) -> RetryConfig:
    """Returns how often, and for how long, obstore sends a request again."""
    return {
        "max_retries": patience.retries,
        "retry_timeout": timedelta(seconds=patience.deadline_seconds),
    }
