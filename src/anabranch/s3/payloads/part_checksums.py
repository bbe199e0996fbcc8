"""Checksums of objects that were uploaded in parts, made of those of the parts.

A COMPOSITE one is the checksum of the parts' checksums, with a dash and their number. A
FULL_OBJECT one is that of the bytes, which a cyclic redundancy check can be put together to:
`check(a + b) = check(a) * x^(8 * len(b)) + check(b)` in the polynomials modulo its own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from anabranch.catalog.uploads import HeldPart
from anabranch.model.object_checksum import COMPOSITE, FULL_OBJECT
from anabranch.model.upload import Upload
from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, encode
from anabranch.s3.xml_writer import leaf

__all__ = ["NAMES", "ChecksumKind", "PartChecksums", "element_name", "joined", "wanted_kind"]

NAMES = tuple(name for name in ALGORITHMS if name != "md5")
"""The algorithms that parts and objects may have checksums of."""

_POLYNOMIALS = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78, "crc64nvme": 0x9A6C9329AC4BC9B5}
"""The polynomials, the coefficient of x^0 being the highest bit, that of x^size left out."""


class ChecksumKind(NamedTuple):
    """A name of ALGORITHMS, empty for none, and what its checksum is of."""

    algorithm: str
    type: str

    def elements(self) -> list[str]:
        """Returns the elements that tell of it; none for none."""
        if not self.algorithm:
            return []
        return [leaf("ChecksumAlgorithm", self.algorithm.upper()), leaf("ChecksumType", self.type)]


class PartChecksums:
    """What the headers of a request say of the checksum of the object that it completes."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._said = {name: headers[PREFIX + name] for name in NAMES if PREFIX + name in headers}
        self._type = headers.get(f"{PREFIX}type", "")

    def combined(self, upload: Upload, parts: Sequence[HeldPart]) -> str:
        """Returns the checksum that the upload was begun for, the empty string where it was not
        or where parts came without theirs.

        Raises S3Error: BadDigest where the request says another, InvalidRequest where what it
        says cannot be known.
        """
        kind = ChecksumKind(upload.checksum_algorithm, upload.checksum_type)
        for name, text in self._said.items():
            said = wanted_kind(name, self._type or (kind.type if kind.algorithm == name else ""))
            known = _combined(said, parts)
            if not known:
                raise S3Error(
                    "InvalidRequest",
                    f"The {name.upper()} of the object cannot be verified: its parts were uploaded "
                    "without theirs.",
                )
            if text not in {known, known.partition("-")[0]}:
                raise S3Error(
                    "BadDigest",
                    f"The {name.upper()} you specified did not match the calculated checksum.",
                )
        return _combined(kind, parts)


def wanted_kind(algorithm: str, kind: str) -> ChecksumKind:
    """Returns what the headers of a request ask for. Raises S3Error: InvalidRequest."""
    name = algorithm.lower()
    if not name:
        return ChecksumKind("", "")
    if name not in NAMES:
        raise S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.")
    kind = kind.upper() or (FULL_OBJECT if name == "crc64nvme" else COMPOSITE)
    possible = {FULL_OBJECT} if name == "crc64nvme" else {COMPOSITE}
    if name in _POLYNOMIALS:
        possible.add(FULL_OBJECT)
    if kind not in possible:
        raise S3Error(
            "InvalidRequest",
            f"The {kind} checksum type cannot be used with the {name} checksum algorithm.",
        )
    return ChecksumKind(name, kind)


def element_name(algorithm: str) -> str:
    """Returns the name of the element that holds a checksum."""
    return f"Checksum{algorithm.upper()}"


def joined(algorithm: str, first: int, second: int, length: int) -> int:
    """Returns the check of bytes, given that of the first of them and of the `length` others."""
    return _product(algorithm, first, _power(algorithm, 8 * length)) ^ second


def _combined(kind: ChecksumKind, parts: Sequence[HeldPart]) -> str:
    name = kind.algorithm
    values = [
        base64.b64decode(held.checksum[1])
        for held in parts
        if held.checksum is not None and held.checksum[0] == name
    ]
    if not name or len(values) != len(parts):
        return ""
    if kind.type == COMPOSITE:
        hasher = ALGORITHMS[name].new()
        hasher.update(b"".join(values))
        return f"{encode(hasher.digest())}-{len(parts)}"
    check = 0
    for held, value in zip(parts, values, strict=True):
        check = joined(name, check, int.from_bytes(value), held.part.size)
    return encode(check.to_bytes(ALGORITHMS[name].size))


@lru_cache(maxsize=64)
def _power(algorithm: str, exponent: int) -> int:
    """Returns x to the power of `exponent`."""
    highest = 1 << (8 * ALGORITHMS[algorithm].size - 1)
    power, square = highest, highest >> 1
    while exponent:
        if exponent & 1:
            power = _product(algorithm, power, square)
        square = _product(algorithm, square, square)
        exponent >>= 1
    return power


def _product(algorithm: str, first: int, second: int) -> int:
    """Returns the product of two polynomials."""
    polynomial = _POLYNOMIALS[algorithm]
    bit = 1 << (8 * ALGORITHMS[algorithm].size - 1)
    product = 0
    while first:
        if first & bit:
            product ^= second
            first ^= bit
        bit >>= 1
        second = (second >> 1) ^ (polynomial if second & 1 else 0)
    return product
