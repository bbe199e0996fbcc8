"""Dates of HTTP headers (RFC 9110, section 5.6.7), as seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache

__all__ = ["format_http_date", "nearest_datetime", "parse_http_date"]

_MIN_SECONDS, _MAX_SECONDS = -62135596800, 253402300799
"""The first second of year 1 and the last of year 9999."""


@lru_cache(maxsize=1024)
def format_http_date(seconds: int) -> str:
    """Returns a time as `Tue, 14 Nov 2023 22:13:20 GMT`; the nearest time that this form can
    express for one before year 1 or after year 9999.
    """
    return format_datetime(nearest_datetime(seconds), usegmt=True)


def parse_http_date(text: str) -> int | None:
    """Returns the time of a date in any of the forms of HTTP, None for any other text.

    A date without a time zone is in UTC, whatever the time zone of the server.
    """
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp())
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def nearest_datetime(seconds: int) -> datetime:
    """Returns a time in UTC, the nearest between year 1 and year 9999."""
    return datetime.fromtimestamp(min(max(seconds, _MIN_SECONDS), _MAX_SECONDS), UTC)
