"""The checksum algorithms of uploads, by their S3 names.

A checksum is sent as base64 of its bytes, the most significant first, in the header or trailer
`x-amz-checksum-<name>`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from anabranch import _kernel
from anabranch.blocks.hashing import Hasher

__all__ = ["ALGORITHMS", "PREFIX", "Algorithm", "decode", "encode"]

PREFIX = "x-amz-checksum-"


class Algorithm(NamedTuple):
    """A checksum algorithm: the size of a checksum in bytes, and a factory of hashers."""

    size: int
    new: Callable[[], Hasher]


class _CRC:
    """A cyclic redundancy check as a Hasher."""

    __slots__ = ("_function", "_size", "_value")

    def __init__(self, function: Callable[[bytes, int], int], size: int) -> None:
        self._function = function
        self._size = size
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._function(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size, "big")


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "crc32": Algorithm(4, partial(_CRC, zlib.crc32, 4)),
        "crc32c": Algorithm(4, partial(_CRC, _kernel.crc32c, 4)),
        "crc64nvme": Algorithm(8, partial(_CRC, _kernel.crc64nvme, 8)),
        "md5": Algorithm(16, partial(hashlib.md5, usedforsecurity=False)),
        "sha1": Algorithm(20, partial(hashlib.sha1, usedforsecurity=False)),
        "sha256": Algorithm(32, hashlib.sha256),
        "sha512": Algorithm(64, hashlib.sha512),
    }
)


def encode(checksum: bytes) -> str:
    """Returns a checksum as base64."""
    return base64.b64encode(checksum).decode("ascii")


def decode(name: str, text: str) -> bytes | None:
    """Returns the bytes of a base64 checksum, None if the text is malformed."""
    try:
        checksum = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # accept only the canonical base64, so that a flipped bit in the text is always detected
    canonical = encode(checksum) == text
    return checksum if canonical and len(checksum) == ALGORITHMS[name].size else None
