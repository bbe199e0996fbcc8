"""Decompresses snappy blocks.

A block is a length and then elements: literal bytes, or copies of what was already put out.
Slow and simple; the kernel has the fast one.
"""

from __future__ import annotations

__all__ = ["decompress"]


def decompress(block: bytes) -> bytes:
    """Returns the content of a snappy block. Raises ValueError for bytes that are none."""
    length, position = _varint(block)
    out = bytearray()
    while position < len(block):
        tag = block[position]
        position += 1
        if tag & 3 == 0:
            size, position = _literal_size(block, tag >> 2, position)
            out += block[position : position + size]
            position += size
        else:
            size, offset, position = _copy(block, tag, position)
            _repeat(out, offset, size)
    if len(out) != length or position != len(block):
        raise ValueError("a snappy block does not have the length that it claims")
    return bytes(out)


def _varint(block: bytes) -> tuple[int, int]:
    value = 0
    for position, byte in enumerate(block[:5]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, position + 1
    raise ValueError("a snappy block has no length")


def _literal_size(block: bytes, short: int, position: int) -> tuple[int, int]:
    """Sizes up to 60 lie in the tag, others in one to four bytes behind it."""
    if short < 60:
        return short + 1, position
    width = short - 59
    return int.from_bytes(block[position : position + width], "little") + 1, position + width


def _copy(block: bytes, tag: int, position: int) -> tuple[int, int, int]:
    if tag & 3 == 1:
        high, size, width = tag >> 5, (tag >> 2 & 7) + 4, 1
    else:
        high, size, width = 0, (tag >> 2) + 1, 2 if tag & 3 == 2 else 4
    low = int.from_bytes(block[position : position + width], "little")
    return size, high << 8 | low, position + width


def _repeat(out: bytearray, offset: int, size: int) -> None:
    """A copy may reach into what it puts out itself, which repeats a pattern."""
    if not 0 < offset <= len(out):
        raise ValueError("a snappy block copies from outside of itself")
    pattern = out[len(out) - offset :][:size]
    whole, rest = divmod(size, len(pattern))
    out += pattern * whole + pattern[:rest]
