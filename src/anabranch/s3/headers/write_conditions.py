"""Conditional writes and deletions: If-Match and If-None-Match.

S3 supports `If-None-Match: *` and `If-Match` with one ETag or `*`, and rejects everything else: a
client whose condition was ignored could overwrite an object that it meant to keep. [AWS, "Add
preconditions to S3 operations with conditional requests"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.errors import NotFound
from anabranch.http.etags import same_etag
from anabranch.model.objects.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.protocol.errors import S3Error

__all__ = ["parse_condition", "require_match", "require_supported"]

_MATCH, _NONE_MATCH = "If-Match", "If-None-Match"
_UNSUPPORTED_ON_WRITES = ("If-Modified-Since", "If-Unmodified-Since")


def parse_condition(call: Call) -> tuple[bool, Callable[[Entry | None], None] | None]:
    """Returns whether the object must not exist, and a function that raises if the current object
    does not meet the condition, None without a condition.

    Raises S3Error: NotImplemented for conditions that S3 does not support on writes.
    """
    headers = call.request.headers
    require_supported(headers)
    none_match, match = call.header(_NONE_MATCH.lower()), call.header(_MATCH.lower())
    if none_match and match:
        raise _unsupported_error(
            f"{_MATCH},{_NONE_MATCH}",
            "Multiple conditional request headers present in the request",
        )
    if none_match not in {"", "*"}:
        raise _unsupported_error(
            _NONE_MATCH,
            f"We don't accept the provided value of {_NONE_MATCH} header for this API",
        )
    if not match:
        return bool(none_match), None
    return False, lambda entry: require_match(match, entry)


def require_supported(headers: Mapping[str, str], *others: str) -> None:
    """Raises S3Error: NotImplemented for a condition on the time or in a header of `others`."""
    for name in (*_UNSUPPORTED_ON_WRITES, *others):
        if name.lower() in headers:
            raise _unsupported_error(name, f"We don't accept the {name} header for this API")


def require_match(header: str, entry: Entry | None) -> None:
    """Raises S3Error: PreconditionFailed unless the current object has the ETag in `header`, the
    value of If-Match, which is one ETag or `*`. Raises NotFound if the object does not exist.
    """
    if entry is None:
        raise NotFound("not found", kind="object_not_found")
    if not same_etag(header, entry.checksum):
        raise S3Error("PreconditionFailed", Condition=_MATCH)


def _unsupported_error(header: str, reason: str) -> S3Error:
    return S3Error("NotImplemented", Header=header, additionalMessage=reason)
