"""What a request's headers say of its body, read before a byte of it is.

x-amz-content-sha256                        the body
------------------------------------------  ------------------------------------------------
64 hexadecimal digits                       as it is, of this SHA-256
UNSIGNED-PAYLOAD, or nothing                as it is
STREAMING-AWS4-HMAC-SHA256-PAYLOAD          in signed chunks
STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER  in signed chunks, then signed trailing headers
STREAMING-UNSIGNED-PAYLOAD-TRAILER          in chunks, then trailing headers
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, decode
from anabranch.signing.canonical_v4 import UNSIGNED

__all__ = ["Claims", "read_claims", "stored_encoding"]

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_CHUNKED = "aws-chunked"
_MOST_DIGITS = 18
# Said of checksums, none themselves.
_ABOUT_CHECKSUMS = frozenset({"algorithm", "mode", "type"})


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What is said of a body; lengths in bytes, None where nothing is said.

    `length` is the object's, `wire_length` the body's, which differ in chunks. `checksum` is a
    name of ALGORITHMS with the value, `trailer` the name of one whose value follows the body.
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


def read_claims(headers: Mapping[str, str], payload: str | None) -> Claims:
    """Returns what is said of the body. `payload` is what the signature says, None if it says
    nothing; the header is then believed.

    Raises S3Error: InvalidArgument, InvalidDigest, InvalidRequest, MissingContentLength.
    """
    word = headers.get("x-amz-content-sha256", UNSIGNED) if payload is None else payload
    chunks, signed_chunks, trailers = _framing(headers, word)
    trailer = _trailer(headers, trailers=trailers)
    wire_length = _length(headers, "content-length", "InvalidArgument")
    length = wire_length
    if chunks:
        length = _length(headers, "x-amz-decoded-content-length", "MissingContentLength")
        if length is None:
            raise S3Error("MissingContentLength")
    return Claims(
        chunks=chunks,
        signed_chunks=signed_chunks,
        trailers=trailers,
        sha256=word.lower() if _SHA256.fullmatch(word) else None,
        md5=_md5(headers),
        checksum=_checksum(headers, trailer),
        trailer=trailer,
        length=length,
        wire_length=wire_length,
    )


def stored_encoding(headers: Mapping[str, str]) -> str:
    """Returns the Content-Encoding that the object itself has: without `aws-chunked`, which is
    only how it travels.
    """
    encoding = headers.get("content-encoding", "")
    if _CHUNKED not in encoding.lower():
        return encoding
    parts = [part for part in encoding.split(",") if part.strip().lower() not in {"", _CHUNKED}]
    return ",".join(parts).strip()


def _framing(headers: Mapping[str, str], word: str) -> tuple[bool, bool, bool]:
    """Returns whether the body is in chunks, whether they are signed, whether trailers follow."""
    if word == _CHUNKS_TRAILER:
        return True, False, True
    if word in {_SIGNED_CHUNKS, _SIGNED_CHUNKS_TRAILER}:
        return True, True, word == _SIGNED_CHUNKS_TRAILER
    if word == UNSIGNED:
        # Requests signed otherwise have no other way to say it.
        encodings = [part.strip() for part in headers.get("content-encoding", "").split(",")]
        chunks = _CHUNKED in encodings and "x-amz-decoded-content-length" in headers
        return chunks, False, chunks
    if _SHA256.fullmatch(word):
        return False, False, False
    raise S3Error(
        "InvalidArgument",
        f"x-amz-content-sha256 must be {UNSIGNED}, {_CHUNKS_TRAILER}, {_SIGNED_CHUNKS}, "
        f"{_SIGNED_CHUNKS_TRAILER} or a valid sha256 value.",
        ArgumentName="x-amz-content-sha256",
        ArgumentValue=word,
    )


def _trailer(headers: Mapping[str, str], *, trailers: bool) -> str | None:
    said = headers.get("x-amz-trailer", "").strip().lower()
    if not said:
        return None
    name = said.removeprefix(PREFIX)
    if not trailers or name == said or name not in ALGORITHMS:
        raise S3Error(
            "InvalidRequest", "The value specified in the x-amz-trailer header is not supported"
        )
    return name


def _checksum(headers: Mapping[str, str], trailer: str | None) -> tuple[str, bytes] | None:
    names = [
        header.removeprefix(PREFIX)
        for header in headers
        if header.startswith(PREFIX) and header.removeprefix(PREFIX) not in _ABOUT_CHECKSUMS
    ]
    if len(names) + (trailer is not None) > 1:
        raise S3Error(
            "InvalidRequest",
            f"Expecting a single {PREFIX} header. Multiple checksum Types are not allowed.",
        )
    named = names[0] if names else trailer
    if named is not None and named not in ALGORITHMS:
        raise S3Error(
            "InvalidRequest",
            "Checksum algorithm provided is unsupported. Please try again with any of the valid "
            f"types: [{', '.join(ALGORITHMS).upper()}]",
        )
    _check_named_algorithm(headers, named)
    if not names:
        return None
    value = decode(names[0], headers[PREFIX + names[0]])
    if value is None:
        raise S3Error("InvalidRequest", f"Value for {PREFIX}{names[0]} header is invalid.")
    return names[0], value


def _check_named_algorithm(headers: Mapping[str, str], named: str | None) -> None:
    said = headers.get("x-amz-sdk-checksum-algorithm", "").lower()
    if not said:
        return
    if named is None:
        raise S3Error(
            "InvalidRequest",
            "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or "
            "x-amz-trailer headers were found.",
        )
    if said != named:
        raise S3Error("InvalidRequest", "Value for x-amz-sdk-checksum-algorithm header is invalid.")


def _md5(headers: Mapping[str, str]) -> bytes | None:
    text = headers.get("content-md5")
    if text is None:
        return None
    value = decode("md5", text)
    if value is None:
        raise S3Error("InvalidDigest", **{"Content-MD5": text})
    return value


def _length(headers: Mapping[str, str], name: str, code: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise S3Error(code, f"The header {name} must be a number of bytes.")
    return int(text)
