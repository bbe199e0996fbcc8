"""The conditions that writes and deletions set on the object that is there.

S3 takes `If-None-Match: *` and `If-Match` with one ETag or `*`, and says so of everything else: a
condition that was passed over would let a client write over what it meant to keep. [AWS, "Add
preconditions to S3 operations with conditional requests"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anabranch.errors import NotFound
from anabranch.model.entry import Entry
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.operations.object_headers import etag_of

__all__ = ["condition_of", "require_match", "require_supported"]

_MATCH, _NONE_MATCH = "If-Match", "If-None-Match"
_NEVER_ON_WRITES = ("If-Modified-Since", "If-Unmodified-Since")


def condition_of(call: Call) -> tuple[bool, Callable[[Entry | None], None] | None]:
    """Returns whether nothing may be there yet, and what must hold of an object that is there.

    Raises S3Error: NotImplemented for conditions that S3 does not take on writes.
    """
    headers = call.request.headers
    require_supported(headers)
    none_match, match = call.header(_NONE_MATCH.lower()), call.header(_MATCH.lower())
    if none_match and match:
        raise _not_taken(
            f"{_MATCH},{_NONE_MATCH}",
            "Multiple conditional request headers present in the request",
        )
    if none_match not in {"", "*"}:
        raise _not_taken(
            _NONE_MATCH,
            f"We don't accept the provided value of {_NONE_MATCH} header for this API",
        )
    if not match:
        return bool(none_match), None
    return False, lambda entry: require_match(match, entry)


def require_supported(headers: Mapping[str, str], *others: str) -> None:
    """Raises S3Error: NotImplemented for a condition on the time, or for one of the `others`."""
    for name in (*_NEVER_ON_WRITES, *others):
        if name.lower() in headers:
            raise _not_taken(name, f"We don't accept the {name} header for this API")


def require_match(header: str, entry: Entry | None) -> None:
    """Raises S3Error: PreconditionFailed unless the object that is there has the ETag that the
    header If-Match of a write names, which is one, or `*`; and NotFound if there is none.
    """
    if entry is None:
        raise NotFound("not found", kind="object_not_found")
    wanted = header.strip()
    if wanted != "*" and wanted.strip('"') != etag_of(entry).strip('"'):
        raise S3Error("PreconditionFailed", Condition=_MATCH)


def _not_taken(header: str, reason: str) -> S3Error:
    return S3Error("NotImplemented", Header=header, additionalMessage=reason)
