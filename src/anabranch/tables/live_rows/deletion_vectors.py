"""Deletion vectors: the positions of the deleted rows of a file, as 64-bit Roaring bitmaps.

Delta Lake and Iceberg store the same bytes: a magic number, the number of bitmaps, and for each its
upper 32 bits and a 32-bit bitmap in the portable format. In files, a length in front and a CRC-32
behind, both big-endian, enclose them.

Source: the Delta protocol, "Deletion Vector Format"; the Puffin specification,
"deletion-vector-v1"; the Roaring format specification.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["decode_z85", "framed_vector", "positions"]

_MAGIC = 1681511377
_NO_RUNS, _WITH_RUNS = 12346, 12347
_CONTAINER = 1 << 16
_ARRAY_MAX = 4096
_BITSET_BYTES = 8192
_OFFSETS_FROM = 4
_MAX_KEY = 1 << 31
_LENGTH = struct.Struct(">I")
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_Z85_VALUES = {char: value for value, char in enumerate(_Z85)}


def decode_z85(text: str) -> bytes:
    """Returns the bytes of a text in Z85 (ZeroMQ RFC 32). Raises Invalid for another text."""
    found = bytearray()
    try:
        for start in range(0, len(text), 5):
            value = 0
            for position in range(start, start + 5):
                value = value * 85 + _Z85_VALUES[text[position]]
            found += _LENGTH.pack(value)
    except (KeyError, IndexError, struct.error) as error:
        raise unreadable("a deletion vector is no text in Z85") from error
    return bytes(found)


def framed_vector(framed: bytes) -> bytes:
    """Returns the vector that a length and a checksum enclose. Raises Invalid if they differ from
    it.
    """
    if len(framed) < 2 * _LENGTH.size:
        raise unreadable("a deletion vector is cut off")
    (length,) = _LENGTH.unpack_from(framed)
    vector = framed[_LENGTH.size : _LENGTH.size + length]
    checksum = framed[_LENGTH.size + length : 2 * _LENGTH.size + length]
    if len(vector) != length or len(checksum) != _LENGTH.size:
        raise unreadable("a deletion vector is cut off")
    if _LENGTH.unpack(checksum)[0] != zlib.crc32(vector):
        raise unreadable("a deletion vector does not have its checksum")
    return vector


def positions(vector: bytes, rows: int) -> Iterator[Any]:
    """Yields arrays of numpy with the deleted positions of a file of `rows` rows. Raises Invalid
    for a damaged vector, and for one with other positions.
    """
    try:
        yield from _positions(memoryview(vector), rows)
    except (struct.error, ValueError) as error:
        raise unreadable(f"a deletion vector is damaged: {error}") from error


def _positions(vector: memoryview, rows: int) -> Iterator[Any]:
    magic, count = struct.unpack_from("<IQ", vector)
    if magic != _MAGIC:
        raise unreadable("a deletion vector has an unknown format")
    at = struct.calcsize("<IQ")
    previous = -1
    for _ in range(count):
        (key,) = struct.unpack_from("<I", vector, at)
        if not previous < key < _MAX_KEY:
            raise unreadable("a deletion vector has no ascending positions")
        previous = key
        at += 4
        for base, container in _Bitmap(vector, at):
            found = container + ((key << 32) + base)
            if len(found) and int(found[-1]) >= rows:
                raise unreadable(
                    f"a deletion vector has the row {int(found[-1])} of a file of {rows} rows"
                )
            yield found
        at = _Bitmap.end(vector, at)


class _Bitmap:
    """A 32-bit bitmap; it yields the containers with the positions at which they begin."""

    def __init__(self, content: memoryview, start: int) -> None:
        self._content = content
        self._start = start

    @classmethod
    def end(cls, content: memoryview, start: int) -> int:
        """Returns where the bitmap ends."""
        bitmap = cls(content, start)
        at = bitmap._first_container()
        for _, cardinality, is_run in bitmap._headers():
            at += bitmap._size(at, cardinality, is_run=is_run)
        return at

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        import numpy as np  # noqa: PLC0415  an optional library

        at = self._first_container()
        for key, cardinality, is_run in self._headers():
            size = self._size(at, cardinality, is_run=is_run)
            raw = self._content[at : at + size]
            if len(raw) != size:
                raise unreadable("a deletion vector is cut off")
            at += size
            if is_run:
                yield key * _CONTAINER, _runs(np.frombuffer(raw[2:], "<u2").astype(np.int64))
            elif cardinality > _ARRAY_MAX:
                bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
                yield key * _CONTAINER, np.flatnonzero(bits).astype(np.int64)
            else:
                yield key * _CONTAINER, np.frombuffer(raw, "<u2").astype(np.int64)

    def _head(self) -> tuple[int, int, int]:
        """Returns the number of containers, and where the bits of runs and the headers begin."""
        (cookie,) = struct.unpack_from("<I", self._content, self._start)
        if cookie & 0xFFFF == _WITH_RUNS:
            count = (cookie >> 16) + 1
            return count, self._start + 4, self._start + 4 + (count + 7) // 8
        if cookie != _NO_RUNS:
            raise unreadable("a deletion vector has an unknown bitmap")
        (count,) = struct.unpack_from("<I", self._content, self._start + 4)
        if count > _CONTAINER:
            raise unreadable("a deletion vector has too many containers")
        return count, -1, self._start + 8

    def _headers(self) -> Iterator[tuple[int, int, bool]]:
        count, runs, at = self._head()
        for number in range(count):
            key, less = struct.unpack_from("<HH", self._content, at + 4 * number)
            is_run = runs >= 0 and bool(self._content[runs + number // 8] >> (number % 8) & 1)
            yield key, less + 1, is_run

    def _first_container(self) -> int:
        count, runs, at = self._head()
        has_offsets = runs < 0 or count >= _OFFSETS_FROM
        return at + 4 * count + (4 * count if has_offsets else 0)

    def _size(self, at: int, cardinality: int, *, is_run: bool) -> int:
        if is_run:
            (count,) = struct.unpack_from("<H", self._content, at)
            return 2 + 4 * int(count)
        return 2 * cardinality if cardinality <= _ARRAY_MAX else _BITSET_BYTES


def _runs(pairs: Any) -> Any:
    """Returns the values of runs, given as pairs of a first value and a length less one."""
    import numpy as np  # noqa: PLC0415

    starts, lengths = pairs[0::2], pairs[1::2] + 1
    total = int(lengths.sum())
    if total > _CONTAINER:
        raise unreadable("a deletion vector has overlapping runs")
    firsts = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return firsts + np.arange(total)
