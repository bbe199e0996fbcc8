"""What clients store with an object: their own metadata, and a few headers of its content.

The header `x-amz-meta-<name>` is kept as `X-Amz-Meta-<name>`, which is lakeFS's form. Text that is
not ASCII travels as encoded words (RFC 2047) and is kept decoded. Content-Encoding and its
like are kept under their own names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.errors import HeaderParseError
from email.header import decode_header, make_header

from anabranch.s3.answer import header_safe
from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.claims import stored_encoding
from anabranch.signing.request import header_text

__all__ = ["metadata_headers", "metadata_of"]

_SENT = "x-amz-meta-"
_KEPT = "X-Amz-Meta-"
_CONTENT = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Expires",
)
_CONTENT_SENT = frozenset(name.lower() for name in _CONTENT)
_MOST = 2048
"""What names and values may have together, in bytes, as in S3."""

_ASCII = re.compile(r"[\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WORD_BYTES = 16  # as many characters' bytes as a word of 75 characters surely holds


def metadata_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata that a request's headers give an object. Raises S3Error:
    MetadataTooLarge.
    """
    metadata: dict[str, str] = {}
    size = 0
    for name, raw in headers.items():
        if name.startswith(_SENT):
            key, value = name.removeprefix(_SENT), _decoded(raw)
            metadata[_KEPT + key] = value
            size += len(key.encode("latin-1")) + len(value.encode())
    if size > _MOST:
        raise S3Error("MetadataTooLarge")
    if not _CONTENT_SENT.isdisjoint(headers):
        for name in _CONTENT:
            value = headers.get(name.lower(), "")
            if name == "Content-Encoding":
                value = stored_encoding(headers)
            if value:
                metadata[name] = header_text(value)
    return metadata


def metadata_headers(metadata: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns the headers that tell of an object's metadata; names that can be no header's are
    counted, as in S3.
    """
    headers: list[tuple[str, str]] = []
    missing = 0
    for name, value in metadata.items():
        if name in _CONTENT:
            headers.append((name, header_safe(value)))
        elif not name.lower().startswith(_SENT):
            continue
        elif _TOKEN.fullmatch(name):
            headers.append((name.lower(), _encoded(value)))
        else:
            missing += 1
    if missing:
        headers.append(("x-amz-missing-meta", str(missing)))
    return headers


def _decoded(raw: str) -> str:
    if "=?" not in raw:
        return header_text(raw)
    try:
        return str(make_header(decode_header(raw)))
    except (HeaderParseError, LookupError, ValueError):
        return header_text(raw)


def _encoded(value: str) -> str:
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
