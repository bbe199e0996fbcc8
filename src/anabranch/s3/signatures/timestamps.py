"""The dates of signed requests, and the check of their clock skew.

The header `Date` is in the format of HTTP (RFC 9110, 5.6.7), or, from some clients, in the compact
format of signature version 4.
"""

from __future__ import annotations

from anabranch.http.dates import parse_http_date
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.timestamps import iso_time, parse_compact

__all__ = ["MAX_SKEW_SECONDS", "check_skew", "parse_date_header"]

MAX_SKEW_SECONDS = 15 * 60
"""The maximum difference between a client's clock and the server's, in seconds."""


def parse_date_header(text: str) -> int:
    """Returns a date, in either format, in seconds since 1970. Raises S3Error: AccessDenied for any
    other text.
    """
    time = parse_compact(text)
    if time is None:
        time = parse_http_date(text)
    if time is None:
        raise S3Error(
            "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header"
        )
    return time


def check_skew(text: str, time: float, now: float) -> None:
    """Raises S3Error: RequestTimeTooSkewed if a request's time differs too much from `now`, both in
    seconds since 1970; `text` is the date as the request has it.
    """
    if abs(now - time) > MAX_SKEW_SECONDS:
        raise S3Error(
            "RequestTimeTooSkewed",
            RequestTime=text,
            ServerTime=iso_time(now),
            MaxAllowedSkewMilliseconds=str(MAX_SKEW_SECONDS * 1000),
        )
