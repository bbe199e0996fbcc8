"""The headers that declare a request's body, parsed before the body is read.

x-amz-content-sha256                        the body
------------------------------------------  ------------------------------------------------
64 hexadecimal digits                       not encoded, with this SHA-256
UNSIGNED-PAYLOAD, or absent                 not encoded
STREAMING-AWS4-HMAC-SHA256-PAYLOAD          in signed chunks
STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER  in signed chunks, then signed trailing headers
STREAMING-UNSIGNED-PAYLOAD-TRAILER          in chunks, then trailing headers
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, decode
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.canonical_v4 import UNSIGNED

__all__ = ["BodyDeclaration", "parse_body_headers", "stored_encoding"]

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_CHUNKED = "aws-chunked"
_MAX_DIGITS = 18
# headers x-amz-checksum-* that do not hold a checksum
_NOT_CHECKSUMS = frozenset({"algorithm", "mode", "type"})


class BodyDeclaration(msgspec.Struct, frozen=True, kw_only=True):
    """The declaration of a body. Lengths are in bytes; None means not declared.

    `length` is the object's and `wire_length` the body's; they differ for chunked bodies.
    `checksum` is a name of ALGORITHMS and a value, `trailer` the algorithm of a checksum that
    follows the body.
    """

    chunks: bool = False
    signed_chunks: bool = False
    trailers: bool = False
    sha256: str | None = None
    md5: bytes | None = None
    checksum: tuple[str, bytes] | None = None
    trailer: str | None = None
    length: int | None = None
    wire_length: int | None = None


def parse_body_headers(headers: Mapping[str, str], signed_payload: str | None) -> BodyDeclaration:
    """Returns the declaration of the body. `signed_payload` is the signed x-amz-content-sha256,
    None if the signature does not cover it; then the header's value is used.

    Raises S3Error: InvalidArgument, InvalidDigest, InvalidRequest, MissingContentLength.
    """
    content_sha256 = (
        headers.get("x-amz-content-sha256", UNSIGNED) if signed_payload is None else signed_payload
    )
    chunks, signed_chunks, trailers = _parse_framing(headers, content_sha256)
    trailer = _parse_trailer(headers, trailers=trailers)
    wire_length = _parse_length(headers, "content-length", "InvalidArgument")
    length = wire_length
    if chunks:
        length = _parse_length(headers, "x-amz-decoded-content-length", "MissingContentLength")
        if length is None:
            raise S3Error("MissingContentLength")
    return BodyDeclaration(
        chunks=chunks,
        signed_chunks=signed_chunks,
        trailers=trailers,
        sha256=content_sha256.lower() if _SHA256.fullmatch(content_sha256) else None,
        md5=_parse_md5(headers),
        checksum=_parse_checksum(headers, trailer),
        trailer=trailer,
        length=length,
        wire_length=wire_length,
    )


def stored_encoding(headers: Mapping[str, str]) -> str:
    """Returns the Content-Encoding of the object: without `aws-chunked`, which applies only to the
    request.
    """
    encoding = headers.get("content-encoding", "")
    if _CHUNKED not in encoding.lower():
        return encoding
    parts = [part for part in encoding.split(",") if part.strip().lower() not in {"", _CHUNKED}]
    return ",".join(parts).strip()


def _parse_framing(headers: Mapping[str, str], content_sha256: str) -> tuple[bool, bool, bool]:
    """Returns whether the body is chunked, whether it is signed, and whether trailers follow."""
    if content_sha256 == _CHUNKS_TRAILER:
        return True, False, True
    if content_sha256 in {_SIGNED_CHUNKS, _SIGNED_CHUNKS_TRAILER}:
        return True, True, content_sha256 == _SIGNED_CHUNKS_TRAILER
    if content_sha256 == UNSIGNED:
        # requests without a version 4 signature can only declare chunks by Content-Encoding
        encodings = [part.strip() for part in headers.get("content-encoding", "").split(",")]
        chunks = _CHUNKED in encodings and "x-amz-decoded-content-length" in headers
        return chunks, False, chunks
    if _SHA256.fullmatch(content_sha256):
        return False, False, False
    raise S3Error(
        "InvalidArgument",
        f"x-amz-content-sha256 must be {UNSIGNED}, {_CHUNKS_TRAILER}, {_SIGNED_CHUNKS}, "
        f"{_SIGNED_CHUNKS_TRAILER} or a valid sha256 value.",
        ArgumentName="x-amz-content-sha256",
        ArgumentValue=content_sha256,
    )


def _parse_trailer(headers: Mapping[str, str], *, trailers: bool) -> str | None:
    value = headers.get("x-amz-trailer", "").strip().lower()
    if not value:
        return None
    name = value.removeprefix(PREFIX)
    if not trailers or name == value or name not in ALGORITHMS:
        raise S3Error(
            "InvalidRequest", "The value specified in the x-amz-trailer header is not supported"
        )
    return name


def _parse_checksum(headers: Mapping[str, str], trailer: str | None) -> tuple[str, bytes] | None:
    names = [
        header.removeprefix(PREFIX)
        for header in headers
        if header.startswith(PREFIX) and header.removeprefix(PREFIX) not in _NOT_CHECKSUMS
    ]
    if len(names) + (trailer is not None) > 1:
        raise S3Error(
            "InvalidRequest",
            f"Expecting a single {PREFIX} header. Multiple checksum Types are not allowed.",
        )
    algorithm = names[0] if names else trailer
    if algorithm is not None and algorithm not in ALGORITHMS:
        raise S3Error(
            "InvalidRequest",
            "Checksum algorithm provided is unsupported. Please try again with any of the valid "
            f"types: [{', '.join(ALGORITHMS).upper()}]",
        )
    _check_declared_algorithm(headers, algorithm)
    if not names:
        return None
    value = decode(names[0], headers[PREFIX + names[0]])
    if value is None:
        raise S3Error("InvalidRequest", f"Value for {PREFIX}{names[0]} header is invalid.")
    return names[0], value


def _check_declared_algorithm(headers: Mapping[str, str], algorithm: str | None) -> None:
    declared = headers.get("x-amz-sdk-checksum-algorithm", "").lower()
    if not declared:
        return
    if algorithm is None:
        raise S3Error(
            "InvalidRequest",
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or "
            "x-amz-trailer headers were found.",
        )
    if declared != algorithm:
        raise S3Error("InvalidRequest", "Value for x-amz-sdk-checksum-algorithm header is invalid.")


def _parse_md5(headers: Mapping[str, str]) -> bytes | None:
    text = headers.get("content-md5")
    if text is None:
        return None
    value = decode("md5", text)
    if value is None:
        raise S3Error("InvalidDigest", **{"Content-MD5": text})
    return value


def _parse_length(headers: Mapping[str, str], name: str, code: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise S3Error(code, f"The header {name} must be a number of bytes.")
    return int(text)
