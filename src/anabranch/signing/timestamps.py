"""Timestamps of signed requests, such as `20240229T120000Z`, as seconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

__all__ = ["iso_time", "parse_compact", "write_compact"]

_COMPACT = re.compile(r"[0-9]{8}T[0-9]{6}Z")


@lru_cache(maxsize=256)
def parse_compact(text: str) -> int | None:
    """Returns the time of `YYYYMMDDTHHMMSSZ`, or None for anything else."""
    if not _COMPACT.fullmatch(text):
        return None
    try:
        moment = datetime(
            int(text[:4]),
            int(text[4:6]),
            int(text[6:8]),
            int(text[9:11]),
            int(text[11:13]),
            int(text[13:15]),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return int(moment.timestamp())


def write_compact(time: float) -> str:
    """Returns `YYYYMMDDTHHMMSSZ`."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y%m%dT%H%M%SZ")


def iso_time(time: float) -> str:
    """Returns `YYYY-MM-DDTHH:MM:SSZ`."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
