"""Writes to a descriptor that write everything."""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = ["write_pieces"]


def write_pieces(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Appends pieces of bytes to an open file: a single write may take fewer than it is given.
    Raises OSError.
    """
    for piece in pieces:
        written = 0
        while written < len(piece):
            written += os.write(descriptor, piece[written:])
