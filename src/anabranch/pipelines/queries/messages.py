"""Messages between the server and a query process: a JSON object and bytes.

4 bytes   length of the JSON text, big-endian
8 bytes   length of the bytes that follow it
"""

from __future__ import annotations

import struct
from typing import IO, Any

import msgspec

__all__ = ["MAX_READ_BYTES", "receive", "send"]

_DECODER = msgspec.json.Decoder(dict[str, Any])

MAX_READ_BYTES = 64 << 20
"""The most bytes of an object in one message."""

_HEAD = struct.Struct(">IQ")


def send(stream: IO[bytes], value: object, content: bytes = b"") -> None:
    """Writes a message. Raises OSError if the other side has ended."""
    text = msgspec.json.encode(value)
    stream.write(_HEAD.pack(len(text), len(content)) + text)
    if content:
        stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Returns the next message. Raises EOFError if the other side has ended."""
    text_length, content_length = _HEAD.unpack(_read(stream, _HEAD.size))
    value: dict[str, Any] = _DECODER.decode(_read(stream, text_length))
    return value, _read(stream, content_length)


def _read(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length) if length else b""
    if len(content) < length:
        raise EOFError
    return content
