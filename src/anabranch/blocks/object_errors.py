"""What the errors of object stores mean for a block store.

A store's answer is told by its status and its code (`NoSuchBucket`). What only an administrator can
put right is StoreRefused, with what to do; what may pass is Busy.
"""

from __future__ import annotations

import re

from anabranch.errors import AlreadyExists, AnabranchError, Busy, Gone, Invalid, StoreRefused

__all__ = ["gone", "refusal", "too_short", "translate", "unanswered"]

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_ONE_OF_MANY = re.compile(r"request failed for key .*\(code: (?:(\d{3})|(\w+))\)", re.DOTALL)
"""Of a list of deletions, one that was refused: Azure gives a status, S3 a code."""

_CREDENTIALS = frozenset(
    {
        "AuthenticationFailed",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
    }
)
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName"})
_REGION = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "PermanentRedirect",
        "TemporaryRedirect",
    }
)
_CLOCK = frozenset({"RequestTimeTooSkewed", "RequestExpired"})
_THROTTLED = frozenset({"SlowDown", "ServerBusy", "TooManyRequests", "ThrottlingException"})

_NO_KEY = frozenset(
    {
        "InvalidResourceName",
        "KeyTooLongError",
        "XMinioInvalidObjectName",
        "XMinioInvalidResourceName",
    }
)
_PASSING = frozenset({"InternalError", "OperationAborted", "RequestTimeout", "ServiceUnavailable"})
_BARE_REDIRECT = "redirect without LOCATION"

_BAD_REQUEST = 400
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _UNAVAILABLE = 401, 403, 404, 429, 503
_REDIRECTS = frozenset({301, 302, 307, 308})
_SERVER_ERRORS = 500
_STATUS_OF = {"AccessDenied": _FORBIDDEN, "AllAccessDisabled": _FORBIDDEN}


def gone(address: str) -> Gone:
    """Returns the error of a block that is not there."""
    return Gone(f"{address}: there is no data", kind="data_missing")


def too_short(address: str, size: int) -> Gone:
    """Returns the error of a block of `size` bytes of which more was asked for."""
    return Gone(f"{address}: the data ends at byte {size}", kind="data_missing")


def translate(error: Exception, address: str) -> AnabranchError:
    """Returns an error of obstore as one of ours."""
    text = str(error)
    status, code = _STATUS.search(text), _CODE.search(text)
    if code is None and isinstance(error, FileNotFoundError):
        return gone(address)
    if status is None and type(error).__name__ == "AlreadyExistsError":
        return AlreadyExists(f"{address}: there is a block already")
    if _BARE_REDIRECT in text:
        return refusal(address, 301, "")
    of_many = _ONE_OF_MANY.search(text)
    if of_many is not None:
        refused = int(of_many[1] or _STATUS_OF.get(of_many[2], _BAD_REQUEST))
        return refusal(address, refused, of_many[2] or "")
    if status is None:
        return unanswered(address, text.partition("\n")[0])
    return refusal(address, int(status[1]), code[1] if code else "")


def unanswered(address: str, reason: str) -> Busy:
    """Returns the error of a store that did not answer in time, or not to the end."""
    return Busy(
        f"{address}: the object store does not answer: {reason}",
        kind="storage_unreachable",
        hint="Try again later. Look at the store's endpoint and at the network.",
    )


def refusal(address: str, status: int, code: str) -> AnabranchError:
    """Returns what an answer other than the one hoped for means, by its status and code."""
    said = f"the object store answered {status} {code}".rstrip()
    if status in {_TOO_MANY, _UNAVAILABLE} or code in _THROTTLED:
        return Busy(
            f"{address}: {said}",
            kind="storage_throttled",
            hint="The object store is asked for too much at once. Try again later.",
        )
    if status >= _SERVER_ERRORS or code in _PASSING:
        return Busy(f"{address}: {said}", kind="storage_failed")
    if code in {"PreconditionFailed", "BlobAlreadyExists", "ConditionalRequestConflict"}:
        return AlreadyExists(f"{address}: there is a block already")
    if code in _NO_KEY:
        return Invalid(f"{address}: {said}: it does not keep this key", kind="invalid_address")
    if status == _NOT_FOUND and code not in _NO_BUCKET:
        return gone(address)
    return _to_be_put_right(address, status, code, said)


def _to_be_put_right(address: str, status: int, code: str, said: str) -> StoreRefused:
    """Returns what only an administrator can put right, and how."""
    if code in _NO_BUCKET:
        return _refused(address, said, "bucket_missing", "Make the bucket, or correct its name.")
    if code in _REGION or status in _REDIRECTS:
        return _refused(
            address, said, "storage_region", "Set blockstore.s3.region to the bucket's region."
        )
    if code in _CLOCK:
        return _refused(address, said, "storage_clock", "Set this machine's clock.")
    if code in _CREDENTIALS or status == _UNAUTHORISED:
        return _refused(
            address, said, "storage_credentials", "Look at the credentials under blockstore."
        )
    if status == _FORBIDDEN:
        return _refused(
            address,
            said,
            "storage_permission",
            "Allow these credentials to list, get, put and delete in the bucket.",
        )
    return _refused(address, said, "store_refused", "")


def _refused(address: str, said: str, kind: str, hint: str) -> StoreRefused:
    return StoreRefused(f"{address}: {said}", kind=kind, hint=hint)
