"""Content that is sent as it is, and how it begins."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["begun"]


def begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Returns the pieces, the first of which has been read: lost data is told of before the
    answer begins, when there still is a status to tell it by.
    """
    return _continued(next(pieces, b""), pieces)


def _continued(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others
