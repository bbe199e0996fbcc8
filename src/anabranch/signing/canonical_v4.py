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
import re

from anabranch.signing.credential_scope import Scope
from anabranch.signing.encoding import canonical_pairs, canonical_path, query_pairs
from anabranch.signing.request import Request

__all__ = ["ALGORITHM", "UNSIGNED", "canonical_request", "string_to_sign"]

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
"""In place of the body's digest: it is not signed."""

_SIGNATURE = "X-Amz-Signature="
_SPACES = re.compile(r"[ \t\r\n\v\f]+")


def canonical_request(
    request: Request, signed_headers: str, payload: str, *, as_sent: bool = False
) -> str:
    """Returns the canonical form of a request, of which `signed_headers` are signed, given as
    `name;name`, and whose body is said to be `payload`.

    A header that is signed and not there counts as empty, for clients drop empty ones on sending.
    The parameter X-Amz-Signature is left out, which is the signature itself.
    """
    headers = request.headers
    query = _without_signature(request.query) if request.query else ""
    lines = [request.method]
    if as_sent:
        lines += (
            request.path or "/",
            _sorted([(name, value) for name, _, value in query_pairs(query)]),
        )
        for name in signed_headers.split(";"):
            lines.append(f"{name}:{headers.get(name, '')}")
    else:
        lines += (canonical_path(request.path), _sorted(canonical_pairs(query)) if query else "")
        for name in signed_headers.split(";"):
            value = headers.get(name, "")
            if "  " in value or "\t" in value:
                value = _SPACES.sub(" ", value)
            lines.append(f"{name}:{value}")
    lines += ("", signed_headers, payload)
    return "\n".join(lines)


def string_to_sign(timestamp: str, scope: Scope, canonical: str) -> str:
    """Returns what is signed in the end; `timestamp` is `YYYYMMDDTHHMMSSZ`."""
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    return f"{ALGORITHM}\n{timestamp}\n{scope.text}\n{digest}"


def _without_signature(query: str) -> str:
    if _SIGNATURE not in query:
        return query
    return "&".join([part for part in query.split("&") if not part.startswith(_SIGNATURE)])


def _sorted(pairs: list[tuple[str, str]]) -> str:
    pairs.sort()
    return "&".join([f"{name}={value}" for name, value in pairs])
