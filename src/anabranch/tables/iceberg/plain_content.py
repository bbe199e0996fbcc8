"""The content of metadata files, which may be compressed."""

from __future__ import annotations

import zlib

__all__ = ["plain_content"]

_GZIP = b"\x1f\x8b"


def plain_content(content: bytes, most: int) -> bytes:
    """Returns the content of a metadata file, which is that of a gzip file if it is one. Raises
    ValueError for one that is incomplete, damaged, or has more than `most` bytes.
    """
    if not content.startswith(_GZIP):
        return content
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(content, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(plain) > most:
        raise ValueError(f"it has more than {most >> 20} MiB")
    if not stream.eof:
        raise ValueError("it is cut off")
    return plain
