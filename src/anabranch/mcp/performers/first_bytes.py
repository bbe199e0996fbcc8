"""The beginning of a body that arrives in pieces."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["first_bytes"]


def first_bytes(pieces: Iterable[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """Returns the first bytes of a body, and whether they are all of it. No piece behind them is
    read.
    """
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > max_bytes:
            return bytes(body[:max_bytes]), False
    return bytes(body), True
