"""Conditional deletions: the ETag, modification time and size that an object must have.

A condition on the ETag requires the object to exist. Conditions on the time or the size apply only
if it exists, as in S3.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.errors import AnabranchError, NotFound
from anabranch.http.dates import parse_http_date
from anabranch.model.objects.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.headers.write_conditions import require_match, require_supported
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_reader import Element

__all__ = ["DeletionCondition", "require_readable"]

_MODIFIED = "x-amz-if-match-last-modified-time"
_SIZE = "x-amz-if-match-size"
_MAX_DIGITS = 18


class DeletionCondition(NamedTuple):
    """The conditions on a deletion; the defaults set none. `modified` is in seconds since 1970,
    `size` in bytes.
    """

    etag: str = ""
    modified: int | None = None
    size: int | None = None

    @classmethod
    def from_headers(cls, call: Call) -> DeletionCondition:
        """Returns the conditions in the headers of a request. Raises S3Error: InvalidArgument, and
        NotImplemented for conditions that S3 does not support on deletions.
        """
        require_supported(call.request.headers, "If-None-Match")
        modified, size = call.header(_MODIFIED), call.header(_SIZE)
        try:
            return cls(call.header("if-match"), _parse_time(modified), _parse_size(size))
        except ValueError:
            name, value = (_MODIFIED, modified) if modified else (_SIZE, size)
            raise S3Error(
                "InvalidArgument",
                f"{_MODIFIED} must be an HTTP date, and {_SIZE} a number of bytes",
                ArgumentName=name,
                ArgumentValue=value,
            ) from None

    @classmethod
    def from_element(cls, item: Element) -> DeletionCondition:
        """Returns the conditions in an element of DeleteObjects. Raises S3Error: MalformedXML."""
        try:
            return cls(
                (item.child_text("ETag") or "").strip(),
                _parse_time(item.child_text("LastModifiedTime") or ""),
                _parse_size(item.child_text("Size") or ""),
            )
        except ValueError:
            raise S3Error("MalformedXML") from None

    def error_for(self, entry: Entry | None) -> AnabranchError | None:
        """Returns the error of the first condition that the current object, None if it does not
        exist, does not meet; returns None if all conditions are met.
        """
        if entry is None:
            return NotFound("not found", kind="object_not_found") if self.etag else None
        if self.etag:
            try:
                require_match(self.etag, entry)
            except S3Error as error:
                return error
        if self.modified not in {None, entry.mtime}:
            return S3Error("PreconditionFailed", Condition=_MODIFIED)
        if self.size not in {None, entry.size}:
            return S3Error("PreconditionFailed", Condition=_SIZE)
        return None


def require_readable(call: Call, path: str) -> None:
    """Raises Denied unless the caller may read an object, because a condition reveals its state."""
    permission = Permission(Action.READ_OBJECT, object_arn(call.address.bucket, path))
    authorize(call.actor, [permission])


def _parse_time(text: str) -> int | None:
    """Returns a time in the format of HTTP or of listings. Raises ValueError."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        seconds = parse_http_date(text)
        if seconds is None:
            raise
        return seconds
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def _parse_size(text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise ValueError(text)
    return int(text) if text else None
