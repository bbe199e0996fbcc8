"""The canonical request that signatures of version 4 cover, and its digest.

    method, path, query sorted by name and value, signed headers, their names, the body's digest

Clients differ in the canonical form of requests that are not normalized: most sign the path and
query re-encoded and headers with single spaces, as S3 documents; some sign what they send. Both
forms are supported. This is no weaker: the two forms of a request have the same key, parameters
and headers, so a signature of one permits nothing else. [AWS, "Signature Version 4 signing
process for Amazon S3"]
"""

from __future__ import annotations

import hashlib

from anabranch import _kernel as kernel
from anabranch.signing.credential_scope import Scope
from anabranch.signing.request import Request

__all__ = [
    "ALGORITHM",
    "UNSIGNED",
    "canonical_request",
    "is_signature",
    "sign_canonical",
    "string_to_sign",
]

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
"""Replaces the body's digest if the body is not signed."""


def canonical_request(
    request: Request, signed_headers: str, payload: str, *, as_sent: bool = False
) -> str:
    """Returns the canonical form of a request. `signed_headers` are names separated by `;`;
    `payload` is the declared digest of the body.

    A missing signed header counts as empty, since clients omit empty headers. The parameter
    X-Amz-Signature, the signature itself, is omitted.
    """
    return kernel.canonical_request(_head(request, signed_headers, payload), as_sent=as_sent)


def is_signature(
    signature: str,
    key: bytes,
    timestamp: str,
    scope: Scope,
    request: Request,
    signed_headers: str,
    payload: str,
    *,
    as_sent: bool = False,
) -> bool:
    """Returns whether `signature` is that of a request's canonical form, in constant time."""
    head = _head(request, signed_headers, payload)
    return kernel.is_signature_v4(signature, key, timestamp, scope.text, head, as_sent=as_sent)


def sign_canonical(key: bytes, timestamp: str, scope: Scope, canonical: str) -> str:
    """Returns the signature of a canonical form, in hexadecimal: that of its `string_to_sign`, with
    the key of the scope.
    """
    return kernel.signature_v4(key, timestamp, scope.text, canonical)


def _head(request: Request, signed_headers: str, payload: str) -> kernel.SignedHead:
    return (
        request.method,
        request.path,
        request.query,
        request.headers,
        signed_headers,
        payload,
    )


def string_to_sign(timestamp: str, scope: Scope, canonical: str) -> str:
    """Returns the text that is signed; `timestamp` is `YYYYMMDDTHHMMSSZ`."""
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return f"{ALGORITHM}\n{timestamp}\n{scope.text}\n{digest}"
