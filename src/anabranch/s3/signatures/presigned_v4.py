"""Signatures of version 4 in a URL, which hold from their date for as long as they say.

    ?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=…&X-Amz-Date=…&X-Amz-Expires=seconds
     &X-Amz-SignedHeaders=host&X-Amz-Signature=hex

The body is not signed, unless the parameter or a signed header
X-Amz-Content-Sha256 says its digest.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.model.secret import Secret
from anabranch.s3.errors import S3Error
from anabranch.s3.signatures.instants import SKEW
from anabranch.s3.signatures.signature_v4 import Claim, check_claim
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.canonical_v4 import ALGORITHM, UNSIGNED
from anabranch.signing.credential_scope import parse_credential
from anabranch.signing.encoding import decoded_text, query_pairs
from anabranch.signing.instants import iso_time, parse_compact
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import SigningKeys

__all__ = ["LONGEST", "verify_presigned"]

LONGEST = 7 * 24 * 60 * 60
"""The longest time that a URL may hold, in seconds."""

_REQUIRED = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
)
_ONCE = frozenset({*_REQUIRED, "X-Amz-Content-Sha256"})


def verify_presigned(
    request: Request,
    now: float,
    secret_of: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Returns whose request it is, which carries a signature in its query.

    `now` is in seconds since 1970. Raises S3Error: AuthorizationQueryParametersError,
    AccessDenied (not yet, no longer, or with headers that are not signed), InvalidAccessKeyId,
    SignatureDoesNotMatch.
    """
    parameters = _parameters(request.query)
    if parameters["X-Amz-Algorithm"] != ALGORITHM:
        raise _wrong(f'X-Amz-Algorithm only supports "{ALGORITHM}"')
    access_key_id, scope = parse_credential(parameters["X-Amz-Credential"], _wrong_credential)
    timestamp = parameters["X-Amz-Date"]
    time = parse_compact(timestamp)
    if time is None:
        raise _wrong("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    if scope.date != timestamp[:8]:
        raise _wrong(
            f'Invalid credential date "{scope.date}". This date is not the same as X-Amz-Date: '
            f'"{timestamp[:8]}".'
        )
    _check_time(time, parameters["X-Amz-Expires"], now)
    claim = Claim(
        access_key_id=access_key_id,
        scope=scope,
        timestamp=timestamp,
        signed_headers=parameters["X-Amz-SignedHeaders"],
        payload=_payload(request, parameters),
        signature=parameters["X-Amz-Signature"],
    )
    return check_claim(claim, request, secret_of, keys)


def _parameters(query: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, _, value in query_pairs(query):
        if name not in _ONCE:
            continue
        if name in parameters:
            raise S3Error("AuthorizationQueryParametersError")
        parameters[name] = decoded_text(value)
    if not all(parameters.get(name) for name in _REQUIRED):
        raise S3Error("AuthorizationQueryParametersError")
    return parameters


def _payload(request: Request, parameters: dict[str, str]) -> str:
    header = "x-amz-content-sha256"
    signed = header in parameters["X-Amz-SignedHeaders"].split(";")
    said = request.headers.get(header) if signed else None
    return parameters.get("X-Amz-Content-Sha256") or said or UNSIGNED


def _check_time(time: int, expires: str, now: float) -> None:
    digits = expires.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise _wrong("X-Amz-Expires should be a number")
    if expires.startswith("-"):
        raise _wrong("X-Amz-Expires must be non-negative")
    if len(digits.lstrip("0")) > len(str(LONGEST)) or int(digits) > LONGEST:
        raise _wrong(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given "
            f"X-Amz-Expires must be less than {LONGEST} seconds"
        )
    if time - now > SKEW:
        raise S3Error("AccessDenied", "Request is not yet valid", ServerTime=iso_time(now))
    end = time + int(digits)
    if now > end:
        raise S3Error(
            "AccessDenied",
            "Request has expired",
            **{
                "X-Amz-Expires": digits,
                "Expires": iso_time(end),
                "ServerTime": iso_time(now),
            },
        )


def _wrong(message: str) -> S3Error:
    return S3Error("AuthorizationQueryParametersError", message)


def _wrong_credential(reason: str) -> S3Error:
    return _wrong(f"Error parsing the X-Amz-Credential parameter; {reason}")
