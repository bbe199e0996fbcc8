"""The bytes of a text, which may be compressed."""

from __future__ import annotations

import bz2
import gzip
import zlib
from typing import Any, BinaryIO

from anabranch.tables.kept_stream import KeptStream

__all__ = ["DECOMPRESSION_ERRORS", "decompress"]

DECOMPRESSION_ERRORS = (OSError, EOFError, zlib.error, ValueError)
"""What reading a decompressed stream raises for damaged content."""


def decompress(stream: BinaryIO, compression: str) -> Any:
    """Returns a stream of a text from its beginning. It is read in pieces: what a small file
    expands to is never in memory as a whole.
    """
    kept: Any = KeptStream(stream)
    if compression == "gzip":
        return gzip.GzipFile(fileobj=kept, mode="rb")
    if compression == "bz2":
        return bz2.BZ2File(kept)
    if compression == "zstd":
        import pyarrow as pa  # noqa: PLC0415  an optional library

        return pa.CompressedInputStream(pa.PythonFile(kept, mode="r"), "zstd")
    return kept
