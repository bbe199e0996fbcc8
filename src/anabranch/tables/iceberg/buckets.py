"""Buckets of Iceberg partitions: what is known of values by the bucket that a hash puts them into.

Source: the Iceberg table specification, "Bucket Transform Details", and the appendix "32-bit Hash
Requirements": Murmur3, x86, 32 bits, with the seed 0.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import msgspec

from anabranch.tables.live_rows.needs import Operator

__all__ = ["BucketRange", "hashed_form"]

_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF
_LONGS = frozenset(("INTEGER", "BIGINT", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"))
_BYTES = frozenset(("VARCHAR", "BLOB", "UUID"))


class BucketRange(msgspec.Struct, frozen=True):
    """The first and last of `buckets` buckets that values may be in, None if they are not known.
    `form` is the form in which values are hashed.
    """

    buckets: int
    form: str
    lower: int | None
    upper: int | None
    is_null: bool = False

    def may_meet(self, operator: Operator, value: Any) -> bool:
        """Returns whether a value in the buckets may meet a comparison with another value."""
        if operator != "=" or self.lower is None or self.upper is None:
            return True
        return self.lower <= _bucket_hash(self.form, value) % self.buckets <= self.upper


def hashed_form(sql: str) -> str:
    """Returns the form in which values of an SQL type are hashed, "" if they are not."""
    if sql in _LONGS:
        return "long"
    if sql == "TIMESTAMP_NS":
        return "nanoseconds"
    return "decimal" if sql.startswith("DECIMAL") else "bytes" if sql in _BYTES else ""


@lru_cache(maxsize=4096)
def _bucket_hash(form: str, value: Any) -> int:
    if form == "bytes":
        data = value
    elif form == "decimal":
        bits = (value if value >= 0 else ~value).bit_length() + 1
        data = value.to_bytes((bits + 7) // 8, "big", signed=True)
    else:
        data = struct.pack("<q", value // 1000 if form == "nanoseconds" else value)
    return _murmur3(data) & _POSITIVE


def _murmur3(data: bytes) -> int:
    found = 0
    whole = len(data) & ~3
    for (block,) in struct.iter_unpack("<I", data[:whole]):
        found = _rotate(found ^ _mix(block), 13) * 5 + 0xE6546B64 & _MASK
    if rest := data[whole:]:
        found ^= _mix(int.from_bytes(rest, "little"))
    found ^= len(data)
    found = (found ^ found >> 16) * 0x85EBCA6B & _MASK
    found = (found ^ found >> 13) * 0xC2B2AE35 & _MASK
    return found ^ found >> 16


def _mix(block: int) -> int:
    return _rotate(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK
