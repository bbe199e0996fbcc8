"""Conditional reads: evaluation of the conditional headers of GET, HEAD and copies (RFC 9110,
section 13).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from anabranch.http.dates import parse_http_date
from anabranch.http.etags import lists_etag
from anabranch.model.objects.entry import Entry
from anabranch.s3.protocol.errors import S3Error

__all__ = ["ConditionResult", "evaluate_conditions", "require_copyable"]


_COPY_SOURCE_PREFIX = "x-amz-copy-source-"
_NAMES = {
    prefix: frozenset(
        f"{prefix}if-{name}"
        for name in ("match", "none-match", "modified-since", "unmodified-since")
    )
    for prefix in ("", _COPY_SOURCE_PREFIX)
}
"""The conditional headers, by the prefix of their names."""


class ConditionResult(Enum):
    """The result of evaluating the conditions of a read."""

    READ = "read"
    NOT_MODIFIED = "not modified"
    FAILED = "failed"


def evaluate_conditions(
    headers: Mapping[str, str], entry: Entry, *, prefix: str = ""
) -> ConditionResult:
    """Returns the result of the conditional headers whose names begin with `prefix`. A condition on
    the ETag takes precedence over one on the time; malformed dates are ignored.
    """
    if headers.keys().isdisjoint(_NAMES[prefix]):
        return ConditionResult.READ
    match, none_match = headers.get(f"{prefix}if-match"), headers.get(f"{prefix}if-none-match")
    unmodified = _parse_time(headers.get(f"{prefix}if-unmodified-since"))
    modified = _parse_time(headers.get(f"{prefix}if-modified-since"))
    if match is not None:
        if not lists_etag(match, entry.checksum):
            return ConditionResult.FAILED
    elif unmodified is not None and entry.mtime > unmodified:
        return ConditionResult.FAILED
    if none_match is not None:
        if lists_etag(none_match, entry.checksum):
            return ConditionResult.NOT_MODIFIED
    elif modified is not None and entry.mtime <= modified:
        return ConditionResult.NOT_MODIFIED
    return ConditionResult.READ


def require_copyable(headers: Mapping[str, str], entry: Entry) -> None:
    """Raises S3Error: PreconditionFailed unless a copy's conditions on its source are met."""
    if evaluate_conditions(headers, entry, prefix=_COPY_SOURCE_PREFIX) is not ConditionResult.READ:
        raise S3Error("PreconditionFailed")


def _parse_time(header: str | None) -> int | None:
    return None if header is None else parse_http_date(header)
