"""Signature version 4 in the header `Authorization`, and the check shared with presigned URLs.

    AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/s3/aws4_request, SignedHeaders=a;b, Signature=hex

`host` and every `x-amz-` header in the request must be signed, so that an attacker cannot add one
to an intercepted request; the date and the body's digest are always signed. A session token is
signed like any other header and is otherwise ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.timestamps import check_skew, parse_date_header
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.canonical_v4 import (
    ALGORITHM,
    canonical_request,
    is_signature,
    string_to_sign,
)
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import Scope, parse_credential
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import SigningKeys, derive
from anabranch.signing.timestamps import parse_compact, write_compact

__all__ = ["ParsedAuthorization", "check_authorization", "verify_header"]

_COMPONENTS = ("Credential", "SignedHeaders", "Signature")
_ADDED_BY_PROXIES = frozenset({"x-amz-cf-id"})  # by CloudFront


class ParsedAuthorization(msgspec.Struct, frozen=True, kw_only=True):
    """The unverified contents of an authorization; `timestamp` is `YYYYMMDDTHHMMSSZ`."""

    access_key_id: str
    scope: Scope
    timestamp: str
    signed_headers: str
    payload: str
    signature: str


def verify_header(
    request: Request,
    now: float,
    find_secret: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Verifies the signature in a request's `Authorization` header and returns who signed it.

    `now` is in seconds since 1970. Raises S3Error: AuthorizationHeaderMalformed, AccessDenied,
    RequestTimeTooSkewed, InvalidAccessKeyId, SignatureDoesNotMatch, InvalidRequest.
    """
    access_key_id, scope, signed_headers, signature = _parse_components(
        request.headers["authorization"]
    )
    timestamp, time = _parse_timestamp(request)
    if scope.date != timestamp[:8]:
        raise _format_error(
            f'Invalid credential date "{scope.date}". This date is not the same as X-Amz-Date: '
            f'"{timestamp[:8]}".'
        )
    check_skew(timestamp, time, now)
    payload = request.headers.get("x-amz-content-sha256")
    if payload is None:
        raise S3Error(
            "InvalidRequest", "Missing required header for this request: x-amz-content-sha256"
        )
    authorization = ParsedAuthorization(
        access_key_id=access_key_id,
        scope=scope,
        timestamp=timestamp,
        signed_headers=signed_headers,
        payload=payload,
        signature=signature,
    )
    return check_authorization(authorization, request, find_secret, keys)


def check_authorization(
    authorization: ParsedAuthorization,
    request: Request,
    find_secret: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Returns who signed the request. Raises S3Error unless the signature matches the request."""
    _check_signed_headers(authorization, request)
    secret = find_secret(authorization.access_key_id)
    if secret is None:
        raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=authorization.access_key_id)
    cached_key = keys.find(secret, authorization.scope)
    key = cached_key or derive(secret, authorization.scope)
    signed = authorization.signed_headers, authorization.payload
    signature = authorization.signature, key, authorization.timestamp, authorization.scope
    if not (
        is_signature(*signature, request, *signed)
        or is_signature(*signature, request, *signed, as_sent=True)
    ):
        canonical = canonical_request(request, authorization.signed_headers, authorization.payload)
        raise S3Error(
            "SignatureDoesNotMatch",
            AWSAccessKeyId=authorization.access_key_id,
            StringToSign=string_to_sign(authorization.timestamp, authorization.scope, canonical),
            SignatureProvided=authorization.signature,
            CanonicalRequest=canonical,
        )
    if cached_key is None:
        keys.put(secret, authorization.scope, key)
    return Verified(
        access_key_id=authorization.access_key_id,
        payload=authorization.payload,
        seed=ChunkSeed(
            key, authorization.timestamp, authorization.scope.text, authorization.signature
        ),
    )


def _check_signed_headers(authorization: ParsedAuthorization, request: Request) -> None:
    headers = request.headers
    unsigned = _unsigned_headers(authorization.signed_headers, tuple(headers))
    if unsigned:
        signed_values = {
            "x-amz-date": authorization.timestamp,
            "x-amz-content-sha256": authorization.payload,
        }
        unsigned = tuple(
            name for name in unsigned if signed_values.get(name, b"") != headers.get(name)
        )
    if unsigned:
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(sorted(unsigned)),
        )


@lru_cache(maxsize=256)
def _unsigned_headers(signed_headers: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the headers among `names` that must be signed and are not."""
    signed = signed_headers.split(";")
    return tuple(
        name
        for name in dict.fromkeys(("host", *names))
        if (name == "host" or name.startswith("x-amz-"))
        and name not in signed
        and name not in _ADDED_BY_PROXIES
    )


def _parse_components(authorization: str) -> tuple[str, Scope, str, str]:
    """Returns the access key, the scope, the names of the signed headers and the signature."""
    # the text before the signature, which is last, repeats in many requests and is cached
    terms, _, last = authorization.rpartition(",")
    name, _, signature = last.strip().partition("=")
    if name == "Signature" and signature:
        return *_parse_terms(terms), signature
    components = _parse_fields(authorization, _COMPONENTS)
    return *_parse_signer(components), components["Signature"]


@lru_cache(maxsize=256)
def _parse_terms(text: str) -> tuple[str, Scope, str]:
    return _parse_signer(_parse_fields(text, _COMPONENTS[:2]))


def _parse_signer(components: Mapping[str, str]) -> tuple[str, Scope, str]:
    access_key_id, scope = parse_credential(components["Credential"], _format_error)
    return access_key_id, scope, components["SignedHeaders"]


def _parse_fields(text: str, names: tuple[str, ...]) -> dict[str, str]:
    components: dict[str, str] = {}
    for part in text.removeprefix(ALGORITHM).split(","):
        name, _, value = part.strip().partition("=")
        if name not in names or name in components:
            raise _format_error(
                "the authorization header requires three components: Credential, "
                "SignedHeaders, and Signature."
            )
        components[name] = value
    for name in names:
        if not components.get(name):
            raise _format_error(f"missing {name}.")
    return components


def _parse_timestamp(request: Request) -> tuple[str, int]:
    text = request.headers.get("x-amz-date") or request.headers.get("date", "")
    time = parse_compact(text)
    if time is not None:
        return text, time
    time = parse_date_header(text)
    return write_compact(time), time


def _format_error(reason: str) -> S3Error:
    return S3Error(
        "AuthorizationHeaderMalformed", f"The authorization header is malformed; {reason}"
    )
