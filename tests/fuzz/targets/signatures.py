"""Signatures of requests to S3: in headers and in queries, of version 4 and 2.

An input is a request as lines: method, path, query, and headers. A request is accepted only if it
means what one of the seeds does, which botocore or this project signed: nothing else was signed.
"""

from __future__ import annotations

import datetime as dt
from functools import cache
from unittest import mock
from urllib.parse import unquote_to_bytes, urlsplit

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from fuzz.target import Refused, Target, outcome

from anabranch.model.secret import Secret
from anabranch.s3.signatures.verifier import Verifier
from anabranch.signing.request import Request
from anabranch.signing.sign import SigningCredentials, presign, sign_request

__all__ = ["TARGETS"]

_NOW = 1_767_225_600.0
_KEY, _SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
_SIGNER = SigningCredentials(_KEY, Secret(_SECRET), "us-east-1")
_FIRST_LINES = 3

_VERIFIER = Verifier({_KEY: Secret(_SECRET)}.get, lambda: _NOW)
_REQUESTS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("POST", "http://lake:8000/repo/main/a%20b?uploads=", {"x-amz-meta-a": "b  c"}),
    ("GET", "http://lake/repo/main/k?a=1&b=%2F&b=%20", {"range": "bytes=0-1"}),
    ("PUT", "http://lake/repo/main/%C3%A9~", {"x-amz-meta-b": "c"}),
)


def check(data: bytes) -> None:
    request = _unpack(data)
    found = outcome(_VERIFIER.verify, request)
    if found is None or isinstance(found, Refused):
        return
    assert found.access_key_id == _KEY
    assert _meaning(request) in _signed_meanings(), "nobody has signed this"


@cache
def _signed_meanings() -> frozenset[object]:
    return frozenset(_meaning(_unpack(seed)) for seed in _signed())


def _meaning(request: Request) -> object:
    """Returns what a signature covers, without its spelling."""
    pairs = [part.partition("=")[::2] for part in request.query.split("&") if part]
    query = sorted(
        (unquote_to_bytes(name), unquote_to_bytes(value))
        for name, value in pairs
        if name != "X-Amz-Signature"
    )
    names = dict(query).get(b"X-Amz-SignedHeaders", b"").decode("latin-1")
    for part in request.headers.get("authorization", "").split(","):
        if part.strip().startswith("SignedHeaders="):
            names = part.strip().removeprefix("SignedHeaders=")
    headers = tuple(
        (name, " ".join(request.headers.get(name, "").split())) for name in names.split(";")
    )
    return request.method, unquote_to_bytes(request.path), tuple(query), headers


def _pack(method: str, url: str, headers: dict[str, str]) -> bytes:
    parts = urlsplit(url)
    lines = [method, parts.path, parts.query, *(f"{k}:{v}" for k, v in headers.items())]
    return "\n".join(lines).encode()


def _unpack(data: bytes) -> Request:
    lines = data.split(b"\n")
    first = [*lines[:_FIRST_LINES], b"", b"", b""][:_FIRST_LINES]
    pairs = [line.partition(b":")[::2] for line in lines[_FIRST_LINES:]]
    return Request.from_wire(first[0].decode("latin-1"), first[1], first[2], pairs)


def _seeds() -> tuple[bytes, ...]:
    old = {"Host": "lake", "Date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    wrong = {**old, "Authorization": f"AWS {_KEY}:c2lnbmF0dXJl"}
    query = f"AWSAccessKeyId={_KEY}&Expires=1767229200&Signature=c2lnbmF0dXJl"
    return *_signed(), _pack("GET", "/r/k", wrong), _pack("GET", f"/r/k?{query}", old)


@cache
def _signed() -> tuple[bytes, ...]:
    found = []
    for method, url, sent in _REQUESTS:
        host = {"Host": urlsplit(url).netloc}
        headers = sign_request(_SIGNER, method, url, sent, time=_NOW).headers
        found.append(_pack(method, url, headers))
        found.append(_pack(method, presign(_SIGNER, method, url, time=_NOW, expires=600), host))
        for signer in (auth.S3SigV4Auth, auth.S3SigV4QueryAuth):
            theirs = _signed_by_botocore(signer, method, url, sent)
            found.append(_pack(method, theirs.url, {**host, **dict(theirs.headers)}))
    return tuple(found)


def _signed_by_botocore(signer: type, method: str, url: str, headers: dict[str, str]) -> AWSRequest:
    request = AWSRequest(method=method, url=url, headers=headers)
    moment = dt.datetime.fromtimestamp(_NOW, dt.UTC)
    with mock.patch.object(auth, "get_current_datetime", return_value=moment):
        signer(Credentials(_KEY, _SECRET), "s3", "us-east-1").add_auth(request)
    return request


TARGETS = (
    Target(
        "signature",
        check,
        _seeds,
        (
            *(b"AWS4-HMAC-SHA256 ", b"Credential=", b"SignedHeaders=", b"Signature=", b";", b","),
            *(b"X-Amz-Signature=", b"X-Amz-Expires=", b"X-Amz-Date=", b"X-Amz-Credential=", b"%"),
            *(b"/us-east-1/s3/aws4_request", b"20260101T000000Z", b"20260101", b"&", b"=", b"host"),
            *(b"\nx-amz-date:", b"\nhost:a", b"\nx-amz-security-token:t", b"Expires=", b"AWS "),
            *(b"99999999999999999999", b"-1", b"604800", b"x-amz-content-sha256", b"%2F", b"+"),
            *(b"Thu, 01 Jan 2026 00:00:00 GMT", b"Thu, 01 Jan 0001 00:00:00 +9999", b"\n"),
        ),
    ),
)
