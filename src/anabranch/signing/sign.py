"""Signs requests to S3, or to another service of AWS, with version 4: in headers or in a URL.

The path of a URL must be encoded by `encode_key`, since it is signed as it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from anabranch.model.secret import Secret
from anabranch.signing.canonical_v4 import (
    ALGORITHM,
    UNSIGNED,
    canonical_request,
    sign_canonical,
)
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import SERVICE, Scope
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import derive
from anabranch.signing.timestamps import write_compact

__all__ = ["SignedHeaders", "SigningCredentials", "presign", "sign_request"]


class SigningCredentials(NamedTuple):
    """An access key with its region; `token` is the session token of temporary credentials."""

    access_key_id: str
    secret: Secret
    region: str
    token: str | None = None


class SignedHeaders(NamedTuple):
    """The headers to send, and the seed of the chunk signatures of the body."""

    headers: dict[str, str]
    seed: ChunkSeed


def sign_request(
    signer: SigningCredentials,
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    time: float,
    payload: str = UNSIGNED,
    service: str = SERVICE,
) -> SignedHeaders:
    """Returns the headers of a request with those of its signature; all of them are signed.

    `payload` is the SHA-256 of the body in hexadecimal or a constant such as UNSIGNED; `time` is
    in seconds since 1970.
    """
    parts = urlsplit(url)
    timestamp = write_compact(time)
    sent = {
        **headers,
        "Host": parts.netloc,
        "X-Amz-Content-Sha256": payload,
        "X-Amz-Date": timestamp,
    }
    if signer.token is not None:
        sent["X-Amz-Security-Token"] = signer.token
    request = Request.from_wire(method, parts.path, parts.query, sent.items())
    names = ";".join(sorted(request.headers))
    scope = Scope(timestamp[:8], signer.region, service)
    key = derive(signer.secret, scope)
    canonical = canonical_request(request, names, payload)
    signature = sign_canonical(key, timestamp, scope, canonical)
    sent["Authorization"] = (
        f"{ALGORITHM} Credential={signer.access_key_id}/{scope.text}, SignedHeaders={names}, "
        f"Signature={signature}"
    )
    return SignedHeaders(sent, ChunkSeed(key, timestamp, scope.text, signature))


def presign(
    signer: SigningCredentials,
    method: str,
    url: str,
    *,
    time: float,
    expires: int,
    headers: Mapping[str, str] | None = None,
) -> str:
    """Returns the URL with parameters added that sign it for `expires` seconds from `time`.

    Requests to it must send `headers` unchanged.
    """
    parts = urlsplit(url)
    timestamp = write_compact(time)
    scope = Scope(timestamp[:8], signer.region)
    sent = {**(headers or {}), "Host": parts.netloc}
    names = ";".join(sorted(name.lower() for name in sent))
    parameters = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{signer.access_key_id}/{scope.text}",
        "X-Amz-Date": timestamp,
        "X-Amz-Expires": str(expires),
        "X-Amz-SignedHeaders": names,
    }
    if signer.token is not None:
        parameters["X-Amz-Security-Token"] = signer.token
    added = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
    query = f"{parts.query}&{added}" if parts.query else added
    request = Request.from_wire(method, parts.path, query, sent.items())
    canonical = canonical_request(request, names, UNSIGNED)
    signature = sign_canonical(derive(signer.secret, scope), timestamp, scope, canonical)
    path = parts.path or "/"
    return f"{parts.scheme}://{parts.netloc}{path}?{query}&X-Amz-Signature={signature}"
