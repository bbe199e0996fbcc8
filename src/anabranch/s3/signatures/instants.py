"""Points in time as requests write them, in seconds since 1970.

Signatures of version 4 write `20240229T120000Z`; the header `Date` writes it as HTTP does
(RFC 9110, 5.6.7), or, from some clients, in the short form too.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from anabranch.s3.errors import S3Error

__all__ = ["SKEW", "check_skew", "iso_time", "parse_compact", "parse_date_header", "write_compact"]

SKEW = 15 * 60
"""How far a client's clock may be from ours, in seconds."""

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


def parse_date_header(text: str) -> int:
    """Returns the time of a date in any of its forms; raises S3Error: AccessDenied for another
    text.
    """
    time = parse_compact(text)
    if time is not None:
        return time
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:  # "-0000": a time without a zone, which HTTP takes as UTC
            moment = moment.replace(tzinfo=UTC)
        return int(moment.timestamp())
    except (ValueError, OverflowError, IndexError, TypeError):
        raise S3Error(
            "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header"
        ) from None


def check_skew(written: str, time: float, now: float) -> None:
    """Raises S3Error: RequestTimeTooSkewed where a request's time is too far from now; `written`
    is how the request has it.
    """
    if abs(now - time) > SKEW:
        raise S3Error(
            "RequestTimeTooSkewed",
            RequestTime=written,
            ServerTime=iso_time(now),
            MaxAllowedSkewMilliseconds=str(SKEW * 1000),
        )


def write_compact(time: float) -> str:
    """Returns `YYYYMMDDTHHMMSSZ`."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y%m%dT%H%M%SZ")


def iso_time(time: float) -> str:
    """Returns `YYYY-MM-DDTHH:MM:SSZ`, as the details of errors have it."""
    return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
