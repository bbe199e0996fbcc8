"""Signatures of version 4, in the header `Authorization`, and what they share with those in URLs.

    AWS4-HMAC-SHA256 Credential=KEY/DATE/REGION/s3/aws4_request, SignedHeaders=a;b, Signature=hex

`host` and every `x-amz-` header that is there must be signed, so that nobody can add one to a
request that was caught; the date and the body's digest are signed in any case. A session token is
signed like any other header and means nothing here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from anabranch.model.secret import Secret
from anabranch.s3.errors import S3Error
from anabranch.s3.signatures.instants import check_skew, parse_date_header
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.canonical_v4 import (
    ALGORITHM,
    canonical_request,
    is_signature,
    string_to_sign,
)
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import Scope, parse_credential
from anabranch.signing.instants import parse_compact, write_compact
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import SigningKeys, derive

__all__ = ["Claim", "check_claim", "verify_header"]

_COMPONENTS = ("Credential", "SignedHeaders", "Signature")
_ADDED_ON_THE_WAY = frozenset({"x-amz-cf-id"})  # by CloudFront


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature says of itself, as yet unproven; `timestamp` is `YYYYMMDDTHHMMSSZ`."""

    access_key_id: str
    scope: Scope
    timestamp: str
    signed_headers: str
    payload: str
    signature: str


def verify_header(
    request: Request,
    now: float,
    secret_of: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Returns whose request it is, which carries a signature in its header `Authorization`.

    `now` is in seconds since 1970. Raises S3Error: AuthorizationHeaderMalformed, AccessDenied,
    RequestTimeTooSkewed, InvalidAccessKeyId, SignatureDoesNotMatch, InvalidRequest.
    """
    credential, signed_headers, signature = _components(request.headers["authorization"])
    access_key_id, scope = parse_credential(credential, _malformed)
    timestamp, time = _timestamp(request)
    if scope.date != timestamp[:8]:
        raise _malformed(
            f'Invalid credential date "{scope.date}". This date is not the same as X-Amz-Date: '
            f'"{timestamp[:8]}".'
        )
    check_skew(timestamp, time, now)
    payload = request.headers.get("x-amz-content-sha256")
    if payload is None:
        raise S3Error(
            "InvalidRequest", "Missing required header for this request: x-amz-content-sha256"
        )
    claim = Claim(
        access_key_id=access_key_id,
        scope=scope,
        timestamp=timestamp,
        signed_headers=signed_headers,
        payload=payload,
        signature=signature,
    )
    return check_claim(claim, request, secret_of, keys)


def check_claim(
    claim: Claim,
    request: Request,
    secret_of: Callable[[str], Secret | None],
    keys: SigningKeys,
) -> Verified:
    """Returns the claim as proven; raises S3Error unless the signature is that of the request."""
    _check_signed_headers(claim, request)
    secret = secret_of(claim.access_key_id)
    if secret is None:
        raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=claim.access_key_id)
    known = keys.find(secret, claim.scope)
    key = known or derive(secret, claim.scope)
    if not _signs(key, claim, request) and not _signs(key, claim, request, as_sent=True):
        canonical = canonical_request(request, claim.signed_headers, claim.payload)
        raise S3Error(
            "SignatureDoesNotMatch",
            AWSAccessKeyId=claim.access_key_id,
            StringToSign=string_to_sign(claim.timestamp, claim.scope, canonical),
            SignatureProvided=claim.signature,
            CanonicalRequest=canonical,
        )
    if known is None:
        keys.remember(secret, claim.scope, key)
    return Verified(
        access_key_id=claim.access_key_id,
        payload=claim.payload,
        seed=ChunkSeed(key, claim.timestamp, claim.scope.text, claim.signature),
    )


def _signs(key: bytes, claim: Claim, request: Request, *, as_sent: bool = False) -> bool:
    return is_signature(
        claim.signature,
        key,
        claim.timestamp,
        claim.scope,
        request,
        claim.signed_headers,
        claim.payload,
        as_sent=as_sent,
    )


def _check_signed_headers(claim: Claim, request: Request) -> None:
    headers = request.headers
    unsigned = _unsigned(claim.signed_headers, tuple(headers))
    if unsigned:
        proven = {"x-amz-date": claim.timestamp, "x-amz-content-sha256": claim.payload}
        unsigned = tuple(name for name in unsigned if proven.get(name, b"") != headers.get(name))
    if unsigned:
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(sorted(unsigned)),
        )


@lru_cache(maxsize=256)
def _unsigned(signed_headers: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns which headers a request with these had to sign, and did not."""
    signed = signed_headers.split(";")
    return tuple(
        name
        for name in dict.fromkeys(("host", *names))
        if (name == "host" or name.startswith("x-amz-"))
        and name not in signed
        and name not in _ADDED_ON_THE_WAY
    )


def _components(authorization: str) -> tuple[str, str, str]:
    """Returns the credential, the names of the signed headers and the signature."""
    # what stands before the signature, which comes last, is the same in many requests
    terms, _, last = authorization.rpartition(",")
    name, _, signature = last.strip().partition("=")
    if name == "Signature" and signature:
        return *_terms(terms), signature
    components = _parse(authorization, _COMPONENTS)
    return components["Credential"], components["SignedHeaders"], components["Signature"]


@lru_cache(maxsize=256)
def _terms(text: str) -> tuple[str, str]:
    components = _parse(text, _COMPONENTS[:2])
    return components["Credential"], components["SignedHeaders"]


def _parse(text: str, names: tuple[str, ...]) -> dict[str, str]:
    components: dict[str, str] = {}
    for part in text.removeprefix(ALGORITHM).split(","):
        name, _, value = part.strip().partition("=")
        if name not in names or name in components:
            raise _malformed(
                "the authorization header requires three components: Credential, "
                "SignedHeaders, and Signature."
            )
        components[name] = value
    for name in names:
        if not components.get(name):
            raise _malformed(f"missing {name}.")
    return components


def _timestamp(request: Request) -> tuple[str, int]:
    text = request.headers.get("x-amz-date") or request.headers.get("date", "")
    time = parse_compact(text)
    if time is not None:
        return text, time
    time = parse_date_header(text)
    return write_compact(time), time


def _malformed(reason: str) -> S3Error:
    return S3Error(
        "AuthorizationHeaderMalformed", f"The authorization header is malformed; {reason}"
    )
