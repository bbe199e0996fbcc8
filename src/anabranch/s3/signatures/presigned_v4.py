"""Presigned URLs of signature version 4, valid from their date for `X-Amz-Expires` seconds.

    ?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=…&X-Amz-Date=…&X-Amz-Expires=seconds
     &X-Amz-SignedHeaders=host&X-Amz-Signature=hex

The body is not signed unless the parameter, or a signed header, X-Amz-Content-Sha256 holds its
digest.
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.signature_v4 import ParsedAuthorization, check_authorization
from anabranch.s3.signatures.timestamps import MAX_SKEW_SECONDS
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.canonical_v4 import ALGORITHM, UNSIGNED
from anabranch.signing.credential_scope import parse_credential
from anabranch.signing.encoding import decode_text, query_pairs
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import SigningKeys
from anabranch.signing.timestamps import iso_time, parse_compact

__all__ = ["MAX_EXPIRES_SECONDS", "verify_presigned"]

MAX_EXPIRES_SECONDS = 7 * 24 * 60 * 60
"""The maximum validity of a presigned URL, in seconds."""

_REQUIRED = (
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
)
_UNIQUE = frozenset({*_REQUIRED, "X-Amz-Content-Sha256"})


def verify_presigned(
    request: Request,
    now: float,
    find_secret: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Verifies the signature in a request's query and returns who signed it.

    `now` is in seconds since 1970. Raises S3Error: AuthorizationQueryParametersError,
    AccessDenied (not yet valid, expired, or with unsigned headers), InvalidAccessKeyId,
    SignatureDoesNotMatch.
    """
    parameters = _parse_parameters(request.query)
    if parameters["X-Amz-Algorithm"] != ALGORITHM:
        raise _query_error(f'X-Amz-Algorithm only supports "{ALGORITHM}"')
    access_key_id, scope = parse_credential(parameters["X-Amz-Credential"], _credential_error)
    timestamp = parameters["X-Amz-Date"]
    time = parse_compact(timestamp)
    if time is None:
        raise _query_error("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
    if scope.date != timestamp[:8]:
        raise _query_error(
            f'Invalid credential date "{scope.date}". This date is not the same as X-Amz-Date: '
            f'"{timestamp[:8]}".'
        )
    _check_time(time, parameters["X-Amz-Expires"], now)
    authorization = ParsedAuthorization(
        access_key_id=access_key_id,
        scope=scope,
        timestamp=timestamp,
        signed_headers=parameters["X-Amz-SignedHeaders"],
        payload=_payload_hash(request, parameters),
        signature=parameters["X-Amz-Signature"],
    )
    return check_authorization(authorization, request, find_secret, keys)


def _parse_parameters(query: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for name, _, value in query_pairs(query):
        if name not in _UNIQUE:
            continue
        if name in parameters:
            raise S3Error("AuthorizationQueryParametersError")
        parameters[name] = decode_text(value)
    if not all(parameters.get(name) for name in _REQUIRED):
        raise S3Error("AuthorizationQueryParametersError")
    return parameters


def _payload_hash(request: Request, parameters: dict[str, str]) -> str:
    header = "x-amz-content-sha256"
    signed = header in parameters["X-Amz-SignedHeaders"].split(";")
    header_value = request.headers.get(header) if signed else None
    return parameters.get("X-Amz-Content-Sha256") or header_value or UNSIGNED


def _check_time(time: int, expires: str, now: float) -> None:
    digits = expires.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise _query_error("X-Amz-Expires should be a number")
    if expires.startswith("-"):
        raise _query_error("X-Amz-Expires must be non-negative")
    if len(digits.lstrip("0")) > len(str(MAX_EXPIRES_SECONDS)) or int(digits) > MAX_EXPIRES_SECONDS:
        raise _query_error(
            "X-Amz-Expires must be less than a week (in seconds); that is, the given "
            f"X-Amz-Expires must be less than {MAX_EXPIRES_SECONDS} seconds"
        )
    if time - now > MAX_SKEW_SECONDS:
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


def _query_error(message: str) -> S3Error:
    return S3Error("AuthorizationQueryParametersError", message)


def _credential_error(reason: str) -> S3Error:
    return _query_error(f"Error parsing the X-Amz-Credential parameter; {reason}")
