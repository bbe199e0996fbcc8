"""The conditions under which an object may be deleted: its ETag, its time, its size.

An ETag names an object that must be there; a time or a size says only what one that is there must
be, as in S3.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from anabranch.access.decide import decide
from anabranch.access.permissions import Action, Permission, object_arn
from anabranch.errors import AnabranchError, NotFound
from anabranch.model.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.write_conditions import require_match, require_supported
from anabranch.s3.xml_reader import Element

__all__ = ["DeletionCondition", "require_readable"]

_MODIFIED = "x-amz-if-match-last-modified-time"
_SIZE = "x-amz-if-match-size"
_MOST_DIGITS = 18


class DeletionCondition(NamedTuple):
    """What must hold of an object for it to be deleted; of nothing said, nothing. `modified` is in
    seconds since 1970, `size` in bytes.
    """

    etag: str = ""
    modified: int | None = None
    size: int | None = None

    @classmethod
    def of_headers(cls, call: Call) -> DeletionCondition:
        """Returns what the headers of a request say. Raises S3Error: InvalidArgument, and
        NotImplemented for conditions that S3 does not take on deletions.
        """
        require_supported(call.request.headers, "If-None-Match")
        modified, size = call.header(_MODIFIED), call.header(_SIZE)
        try:
            return cls(call.header("if-match"), _seconds(modified), _bytes(size))
        except ValueError:
            name, value = (_MODIFIED, modified) if modified else (_SIZE, size)
            raise S3Error(
                "InvalidArgument",
                f"{_MODIFIED} is a date of HTTP, {_SIZE} a number of bytes",
                ArgumentName=name,
                ArgumentValue=value,
            ) from None

    @classmethod
    def of_element(cls, item: Element) -> DeletionCondition:
        """Returns what an element of DeleteObjects says. Raises S3Error: MalformedXML."""
        try:
            return cls(
                (item.text_of("ETag") or "").strip(),
                _seconds(item.text_of("LastModifiedTime") or ""),
                _bytes(item.text_of("Size") or ""),
            )
        except ValueError:
            raise S3Error("MalformedXML") from None

    def refusal(self, entry: Entry | None) -> AnabranchError | None:
        """Returns what is wrong with the object that is there, or with there being none."""
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
    """Raises Denied unless the caller may read an object: a condition tells what it is."""
    permission = Permission(Action.READ_OBJECT, object_arn(call.address.bucket, path))
    decide(call.actor, [permission])


def _seconds(text: str) -> int | None:
    """Returns a time, as HTTP or as listings write it. Raises ValueError."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = parsedate_to_datetime(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def _bytes(text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ValueError(text)
    return int(text) if text else None
