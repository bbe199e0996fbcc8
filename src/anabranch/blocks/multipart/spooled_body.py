"""Body of a part, buffered until its size and MD5 are known."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

__all__ = ["SpooledBody", "spool_to_file"]

_MAX_MEMORY_BYTES = 8 << 20


class SpooledBody(NamedTuple):
    """File, positioned at its start, with its size in bytes and its hex MD5."""

    file: BinaryIO
    size: int
    md5: str


@contextmanager
def spool_to_file(chunks: Iterable[bytes]) -> Iterator[SpooledBody]:
    """Gives the chunks as a file, in memory up to 8 MiB and beyond that in an unnamed temporary
    file. Raises what `chunks` raises.
    """
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    with tempfile.SpooledTemporaryFile(_MAX_MEMORY_BYTES) as file:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            file.write(chunk)
        file.seek(0)
        yield SpooledBody(cast("BinaryIO", file), size, digest.hexdigest())
