"""User metadata of objects: `x-amz-meta-` headers and the standard content headers.

The header `x-amz-meta-<name>` is stored as `X-Amz-Meta-<name>`, as in lakeFS. Text that is not
ASCII is sent as encoded words (RFC 2047) and stored decoded. Content-Encoding and similar headers
are stored under their own names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.errors import HeaderParseError
from email.header import decode_header, make_header

from anabranch.errors import Invalid
from anabranch.http.header_values import header_safe
from anabranch.model.objects.entry import CONTENT_HEADERS, USER_PREFIX, user_metadata
from anabranch.s3.payloads.body_headers import stored_encoding
from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.request import header_text

__all__ = ["metadata_headers", "parse_user_metadata"]

_HEADER_PREFIX = "x-amz-meta-"
_CONTENT_HEADERS_LOWER = frozenset(name.lower() for name in CONTENT_HEADERS)
_MAX_SENT_BYTES = 32 << 10
"""The most bytes of metadata that are sent: older objects may have more than clients can read."""

_ASCII = re.compile(r"[\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WORD_BYTES = 16  # UTF-8 bytes that always fit into an encoded word of at most 75 characters


def parse_user_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the user metadata in the headers of a request. Raises S3Error: MetadataTooLarge."""
    metadata: dict[str, str] = {}
    for name, raw in headers.items():
        if name.startswith(_HEADER_PREFIX):
            key, value = name.removeprefix(_HEADER_PREFIX), _decode_words(raw)
            metadata[USER_PREFIX + key] = value
    if not _CONTENT_HEADERS_LOWER.isdisjoint(headers):
        for name in CONTENT_HEADERS:
            value = headers.get(name.lower(), "")
            if name == "Content-Encoding":
                value = stored_encoding(headers)
            if value:
                metadata[name] = header_text(value)
    try:
        return user_metadata(metadata)
    except Invalid:
        raise S3Error("MetadataTooLarge") from None


def metadata_headers(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the response headers for an object's metadata. Names that are not valid in a header,
    and what is too long for one, are left out and counted in `x-amz-missing-meta`, as in S3.
    """
    headers: list[tuple[str, str]] = []
    missing = size = 0
    for name, value in metadata.items():
        if name in CONTENT_HEADERS:
            header = name, header_safe(value)
        elif not name.lower().startswith(_HEADER_PREFIX):
            continue
        elif _TOKEN.fullmatch(name):
            header = name.lower(), _encode_words(value)
        else:
            missing += 1
            continue
        length = len(name) + len(header[1])
        if size + length > _MAX_SENT_BYTES:
            missing += 1
            continue
        size += length
        headers.append(header)
    if missing:
        headers.append(("x-amz-missing-meta", str(missing)))
    return headers


def _decode_words(raw: str) -> str:
    if "=?" not in raw:
        return header_text(raw)
    try:
        return str(make_header(decode_header(raw)))
    except (HeaderParseError, LookupError, ValueError):
        return header_text(raw)


def _encode_words(value: str) -> str:
    if _ASCII.fullmatch(value):
        return value
    words: list[str] = []
    word: list[str] = []
    size = 0
    for character in value:
        raw = character.encode("utf-8", "replace")
        if size + len(raw) > _WORD_BYTES:
            words.append("".join(word))
            word, size = [], 0
        plain = character.isascii() and character.isalnum()
        word.append(character if plain else "".join(f"={byte:02X}" for byte in raw))
        size += len(raw)
    words.append("".join(word))
    return " ".join(f"=?UTF-8?Q?{word}?=" for word in words)
