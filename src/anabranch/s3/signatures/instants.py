"""Dates of requests, in seconds since 1970, and how far they may be from now.

The header `Date` has them as HTTP does (RFC 9110, 5.6.7), or, from some clients, in the short form
of version 4.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime

from anabranch.s3.errors import S3Error
from anabranch.signing.instants import iso_time, parse_compact

__all__ = ["SKEW", "check_skew", "parse_date_header"]

SKEW = 15 * 60
"""How far a client's clock may be from ours, in seconds."""


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
