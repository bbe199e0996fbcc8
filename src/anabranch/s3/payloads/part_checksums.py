"""Checksums of multipart objects, computed from the checksums of the parts.

A COMPOSITE checksum is the checksum of the parts' checksums, followed by a dash and the number of
parts. A FULL_OBJECT checksum covers the bytes; only CRCs can be combined to one:
`crc(a + b) = crc(a) * x^(8 * len(b)) + crc(b)` in the polynomials modulo the CRC's own.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from anabranch.catalog.objects.uploads import StoredPart
from anabranch.model.uploads.object_checksum import COMPOSITE, FULL_OBJECT
from anabranch.model.uploads.upload import Upload
from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, encode
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import leaf

__all__ = [
    "NAMES",
    "ChecksumKind",
    "PartChecksums",
    "composite_checksum",
    "element_name",
    "parse_checksum_kind",
]

NAMES = tuple(name for name in ALGORITHMS if name != "md5")
"""The algorithms that are allowed for the checksums of parts and objects."""

_POLYNOMIALS = {"crc32": 0xEDB88320, "crc32c": 0x82F63B78, "crc64nvme": 0x9A6C9329AC4BC9B5}
"""The polynomials of the CRCs in reflected bit order, without the leading coefficient."""


class ChecksumKind(NamedTuple):
    """A checksum algorithm, empty for none, and its type: FULL_OBJECT or COMPOSITE."""

    algorithm: str
    type: str

    def elements(self) -> list[str]:
        """Returns the XML elements for it, none without an algorithm."""
        if not self.algorithm:
            return []
        return [leaf("ChecksumAlgorithm", self.algorithm.upper()), leaf("ChecksumType", self.type)]


class PartChecksums:
    """The object checksums in the headers of a request that completes a multipart upload."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._declared = {
            name: headers[PREFIX + name] for name in NAMES if PREFIX + name in headers
        }
        self._type = headers.get(f"{PREFIX}type", "")

    def combine(self, upload: Upload, parts: Sequence[StoredPart]) -> str:
        """Returns the checksum of the kind that the upload was created with, an empty string if it
        was created without or if parts have no checksums.

        Raises S3Error: BadDigest if it differs from a declared checksum, InvalidRequest if a
        declared checksum cannot be computed.
        """
        kind = ChecksumKind(upload.checksum_algorithm, upload.checksum_type)
        for name, text in self._declared.items():
            declared_kind = parse_checksum_kind(
                name, self._type or (kind.type if kind.algorithm == name else "")
            )
            computed = _combine(declared_kind, parts)
            if not computed:
                raise S3Error(
                    "InvalidRequest",
                    f"The {name.upper()} of the object cannot be verified: its parts were uploaded "
                    "without theirs.",
                )
            if text not in {computed, computed.partition("-")[0]}:
                raise S3Error(
                    "BadDigest",
                    f"The {name.upper()} you specified did not match the calculated checksum.",
                )
        return _combine(kind, parts)


def parse_checksum_kind(algorithm: str, kind: str) -> ChecksumKind:
    """Returns the checksum kind that a request names. Raises S3Error: InvalidRequest."""
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
    """Returns the name of the XML element of a checksum."""
    return f"Checksum{algorithm.upper()}"


def composite_checksum(algorithm: str, first: int, second: int, length: int) -> int:
    """Returns the CRC of the concatenation of two byte strings from the CRCs of both; `length` is
    the length of the second in bytes.
    """
    return _product(algorithm, first, _power(algorithm, 8 * length)) ^ second


def _combine(kind: ChecksumKind, parts: Sequence[StoredPart]) -> str:
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
        check = composite_checksum(name, check, int.from_bytes(value), held.part.size)
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
