"""Signature version 2: `Authorization: AWS KEY:signature`, or in the query of a URL.

    ?AWSAccessKeyId=KEY&Expires=seconds since 1970&Signature=base64 of HMAC-SHA1

The body is not signed. A URL may carry `x-amz-` headers, `Content-Type` and `Content-MD5` in its
query, and is then signed as if they were sent as headers.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Mapping

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.canonical_v2 import canonical_string
from anabranch.s3.signatures.timestamps import check_skew, parse_date_header
from anabranch.s3.signatures.verified import Verified
from anabranch.signing.encoding import decode_text, query_pairs
from anabranch.signing.request import Request
from anabranch.signing.timestamps import iso_time

__all__ = ["SCHEME", "verify_header_v2", "verify_presigned_v2"]

SCHEME = "AWS "

_MAX_EXPIRES_DIGITS = 12  # digits: some 30,000 years
_AS_HEADERS = ("content-md5", "content-type")


def verify_header_v2(
    request: Request, now: float, find_secret: Callable[[str], Secret | None]
) -> Verified:
    """Verifies the signature in a request's `Authorization` header and returns who signed it.

    `now` is in seconds since 1970. Raises S3Error: InvalidArgument, AccessDenied,
    RequestTimeTooSkewed, InvalidAccessKeyId, SignatureDoesNotMatch.
    """
    credential = request.headers["authorization"].removeprefix(SCHEME).strip()
    access_key_id, _, signature = credential.rpartition(":")
    if not access_key_id or not signature:
        raise S3Error(
            "InvalidArgument",
            "AWS authorization header is invalid.  Expected AwsAccessKeyId:signature",
        )
    headers = request.headers
    date = headers.get("x-amz-date", headers.get("date", ""))
    time = parse_date_header(date)
    check_skew(date, time, now)
    line = "" if "x-amz-date" in headers else date
    return _check(request, headers, line, access_key_id, signature, find_secret)


def verify_presigned_v2(
    request: Request, now: float, find_secret: Callable[[str], Secret | None]
) -> Verified:
    """Verifies the signature in a request's query and returns who signed it.

    `now` is in seconds since 1970. Raises S3Error: AccessDenied, InvalidAccessKeyId,
    SignatureDoesNotMatch.
    """
    parameters: dict[str, str] = {}
    headers = dict(request.headers)
    for name, _, raw_value in query_pairs(request.query):
        if name in {"AWSAccessKeyId", "Expires", "Signature"}:
            if name in parameters:
                raise _missing_parameters()
            parameters[name] = decode_text(raw_value)
            continue
        header = decode_text(name).lower()
        if header.startswith("x-amz-") or header in _AS_HEADERS:
            headers.setdefault(header, decode_text(raw_value).strip())
    if not all(parameters.get(name) for name in ("AWSAccessKeyId", "Expires", "Signature")):
        raise _missing_parameters()
    expires = parameters["Expires"]
    if not (expires.isascii() and expires.isdigit() and len(expires) <= _MAX_EXPIRES_DIGITS):
        raise S3Error(
            "AccessDenied", f"Invalid date (should be seconds since epoch): {expires[:40]}"
        )
    if now > int(expires):
        raise S3Error(
            "AccessDenied",
            "Request has expired",
            Expires=expires,
            ServerTime=iso_time(now),
        )
    signature = parameters["Signature"].replace(" ", "+")  # base64 that was not percent-encoded
    access_key_id = parameters["AWSAccessKeyId"]
    return _check(request, headers, expires, access_key_id, signature, find_secret)


def _check(
    request: Request,
    headers: Mapping[str, str],
    date: str,
    access_key_id: str,
    signature: str,
    find_secret: Callable[[str], Secret | None],
) -> Verified:
    secret = find_secret(access_key_id)
    if secret is None:
        raise S3Error("InvalidAccessKeyId", AWSAccessKeyId=access_key_id)
    key = secret.reveal().encode()
    provided = signature.encode("latin-1")
    text = canonical_string(request, headers, date, as_sent=False)
    if not _matches(key, text, provided):
        sent = canonical_string(request, headers, date, as_sent=True)
        if sent == text or not _matches(key, sent, provided):
            raise S3Error(
                "SignatureDoesNotMatch",
                AWSAccessKeyId=access_key_id,
                StringToSign=text,
                SignatureProvided=signature,
            )
    return Verified(access_key_id=access_key_id)


def _matches(key: bytes, text: str, signature: bytes) -> bool:
    expected = base64.b64encode(hmac.digest(key, text.encode("latin-1"), "sha1"))
    return hmac.compare_digest(expected, signature)


def _missing_parameters() -> S3Error:
    return S3Error(
        "AccessDenied",
        "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters",
    )
