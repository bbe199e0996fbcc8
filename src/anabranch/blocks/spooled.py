"""The bytes of a part, held until it is known how many they are and that they are those meant."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

__all__ = ["Spooled", "spooled"]

_IN_MEMORY_BYTES = 8 << 20


class Spooled(NamedTuple):
    """A file of so many bytes, at its beginning, and their hex MD5."""

    file: BinaryIO
    size: int
    md5: str


@contextmanager
def spooled(chunks: Iterable[bytes]) -> Iterator[Spooled]:
    """Gives the chunks as a file: in memory up to 8 MiB, beyond that in a temporary file without
    a name. Raises what `chunks` raises.
    """
    digest = hashlib.md5(usedforsecurity=False)
    size = 0
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            file.write(chunk)
        file.seek(0)
        yield Spooled(cast("BinaryIO", file), size, digest.hexdigest())
