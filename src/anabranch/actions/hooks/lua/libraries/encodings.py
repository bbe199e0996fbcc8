"""`encoding/hex`, `encoding/base64`, `encoding/z85` and `uuid`."""

from __future__ import annotations

import base64 as codec
import binascii
import uuid as identifiers
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext

__all__ = ["base64", "hex", "uuid", "z85"]

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_UUID_CHARS = 20


def hex(_: HookContext) -> Mapping[str, Any]:  # noqa: A001  its name in Lua
    """Returns the library `encoding/hex`."""

    def encode(value: bytes) -> str:
        return value.hex()

    def decode(value: bytes) -> bytes:
        return binascii.unhexlify(value)

    return {"encode": encode, "decode": decode}


def base64(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/base64`; the URL-safe form has no padding."""

    def encode(data: bytes) -> bytes:
        return codec.b64encode(data)

    def decode(data: bytes) -> bytes:
        return codec.b64decode(data.translate(None, b"\r\n"), validate=True)

    def url_encode(data: bytes) -> bytes:
        return codec.urlsafe_b64encode(data).rstrip(b"=")

    def url_decode(data: bytes) -> bytes:
        if set(b"+/=") & set(data):
            raise ValueError("a character is not of the alphabet for URLs")
        return codec.b64decode(data + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)

    return {
        "encode": encode,
        "decode": decode,
        "url_encode": url_encode,
        "url_decode": url_decode,
        "urlEncode": url_encode,
        "urlDecode": url_decode,
    }


def z85(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/z85`, with the names of Delta Lake's deletion vectors."""

    def decode_uuid(data: str) -> tuple[str, str]:
        prefix, encoded = data[:-_UUID_CHARS], data[-_UUID_CHARS:]
        if len(encoded) != _UUID_CHARS:
            raise ValueError(f"a UUID in Z85 has {_UUID_CHARS} characters, not {len(encoded)}")
        return str(identifiers.UUID(bytes=_z85_decoded(encoded))), prefix

    return {"decode_uuid": decode_uuid}


def uuid(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `uuid`."""

    def new() -> str:
        return str(identifiers.uuid4())

    return {"new": new}


def _z85_decoded(text: str) -> bytes:
    """Decodes ZeroMQ's encoding of binary data, RFC 32: four bytes in five characters."""
    decoded = b""
    for start in range(0, len(text), 5):
        number = 0
        for character in text[start : start + 5]:
            digit = _Z85.find(character)
            if digit < 0:
                raise ValueError(f"{character!r} is no character of Z85")
            number = number * 85 + digit
        decoded += number.to_bytes(4, "big")
    return decoded
