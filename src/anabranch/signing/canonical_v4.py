"""What a signature of version 4 signs: the request in one canonical form, and its digest.

    method, path, query sorted by name and value, signed headers, their names, the body's digest

Clients differ in what they take as canonical where they have not sent it so: most sign the path
and query encoded anew and headers with single spaces, as S3 says; some sign what they send. Both
are offered. That is no weaker: the two forms of a request name the same key, parameters and
headers, so whoever can replay one can replay the other. [AWS, "Signature Version 4 signing
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
"""In place of the body's digest: it is not signed."""


def canonical_request(
    request: Request, signed_headers: str, payload: str, *, as_sent: bool = False
) -> str:
    """Returns the canonical form of a request, of which `signed_headers` are signed, given as
    `name;name`, and whose body is said to be `payload`.

    A header that is signed and not there counts as empty, for clients drop empty ones on sending.
    The parameter X-Amz-Signature is left out, which is the signature itself.
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
    """Returns whether `signature` is what `sign_canonical` makes of a request's canonical form; it
    takes the same time wherever the two differ.
    """
    head = _head(request, signed_headers, payload)
    return kernel.is_signature_v4(signature, key, timestamp, scope.text, head, as_sent=as_sent)


def sign_canonical(key: bytes, timestamp: str, scope: Scope, canonical: str) -> str:
    """Returns the signature over a canonical form, in hexadecimal: that of its `string_to_sign`,
    with the scope's key.
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
    """Returns what is signed in the end; `timestamp` is `YYYYMMDDTHHMMSSZ`."""
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return f"{ALGORITHM}\n{timestamp}\n{scope.text}\n{digest}"
