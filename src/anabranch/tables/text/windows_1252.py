"""Windows-1252 with a character for each byte, so that text can be written as it was read.

The five bytes that it leaves undefined are control characters, as in Latin-1 and as in the WHATWG
Encoding Standard.
"""

from __future__ import annotations

import codecs

__all__ = ["decode", "encode"]


def _character(byte: int) -> str:
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_CHARACTERS = "".join(map(_character, range(256)))
_BYTES = codecs.charmap_build(_CHARACTERS)


def decode(content: bytes) -> str:
    """Returns the text of bytes."""
    return codecs.charmap_decode(content, "strict", _CHARACTERS)[0]


def encode(text: str) -> bytes:
    """Returns the bytes of a text. Raises UnicodeEncodeError for a character that has none."""
    return codecs.charmap_encode(text, "strict", _BYTES)[0]
