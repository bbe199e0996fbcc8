"""The conditions that reads set on the object that is there (RFC 9110, section 13)."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import Enum

from anabranch.model.entry import Entry
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.object_headers import etag_of

__all__ = ["Verdict", "judge", "require_copyable"]


_OF_COPIES = "x-amz-copy-source-"
_NAMES = {
    of: frozenset(
        f"{of}if-{name}" for name in ("match", "none-match", "modified-since", "unmodified-since")
    )
    for of in ("", _OF_COPIES)
}
"""The headers that set conditions, by what their names begin with."""


class Verdict(Enum):
    """What the conditions of a read come to."""

    READ = "read"
    NOT_MODIFIED = "not modified"
    FAILED = "failed"


def judge(headers: Mapping[str, str], entry: Entry, *, of: str = "") -> Verdict:
    """Returns what the conditions come to that headers whose names begin with `of` set. A
    condition on the ETag goes before one on the time; a date that is none is passed over.
    """
    if headers.keys().isdisjoint(_NAMES[of]):
        return Verdict.READ
    match, none_match = headers.get(f"{of}if-match"), headers.get(f"{of}if-none-match")
    unmodified = _time(headers.get(f"{of}if-unmodified-since"))
    modified = _time(headers.get(f"{of}if-modified-since"))
    if match is not None:
        if not _named(match, entry):
            return Verdict.FAILED
    elif unmodified is not None and entry.mtime > unmodified:
        return Verdict.FAILED
    if none_match is not None:
        if _named(none_match, entry):
            return Verdict.NOT_MODIFIED
    elif modified is not None and entry.mtime <= modified:
        return Verdict.NOT_MODIFIED
    return Verdict.READ


def require_copyable(headers: Mapping[str, str], entry: Entry) -> None:
    """Raises S3Error: PreconditionFailed unless a copy's conditions on its source hold."""
    if judge(headers, entry, of=_OF_COPIES) is not Verdict.READ:
        raise S3Error("PreconditionFailed")


def _named(header: str, entry: Entry) -> bool:
    etag = etag_of(entry).strip('"')
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return any(tag in {"*", etag} for tag in tags)


def _time(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
