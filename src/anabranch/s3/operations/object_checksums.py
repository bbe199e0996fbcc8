"""Checksums of objects as requests want them: in headers, in elements, computed anew of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.blocks.hashing import Hashing
from anabranch.catalog.objects import OpenObject
from anabranch.model.entry import Entry
from anabranch.model.object_checksum import (
    FULL_OBJECT,
    ObjectChecksum,
    checksum_metadata,
    kept_checksum,
)
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error
from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, encode
from anabranch.s3.payloads.part_checksums import NAMES, element_name
from anabranch.s3.xml_writer import leaf

__all__ = [
    "ALGORITHM",
    "checksum_elements",
    "checksum_headers",
    "copied_checksum",
    "digest",
    "known_checksum",
    "wants_checksum",
]

ALGORITHM = f"{PREFIX}algorithm"
"""The header that asks for a checksum by that algorithm."""

_MODE = f"{PREFIX}mode"
_ENABLED = "ENABLED"


def wants_checksum(call: Call) -> bool:
    """Returns whether a read asks for the object's checksum."""
    return call.request.headers.get(_MODE, "").upper() == _ENABLED


def checksum_headers(checksum: ObjectChecksum | None) -> list[tuple[str, str]]:
    """Returns the headers that tell of a checksum; none without one."""
    if checksum is None or checksum.algorithm not in ALGORITHMS:
        return []
    return [(PREFIX + checksum.algorithm, checksum.value), (f"{PREFIX}type", checksum.type)]


def checksum_elements(checksum: ObjectChecksum | None) -> str:
    """Returns the elements that tell of a checksum; none without one."""
    if checksum is None or checksum.algorithm not in ALGORITHMS:
        return ""
    return leaf(element_name(checksum.algorithm), checksum.value) + leaf(
        "ChecksumType", checksum.type
    )


def copied_checksum(call: Call) -> Callable[[OpenObject], dict[str, str]] | None:
    """Returns what makes a copy's system metadata of its source, where the request asks for a
    checksum by an algorithm; None where it does not. Raises S3Error: InvalidRequest.
    """
    algorithm = call.header(ALGORITHM).lower()
    if not algorithm:
        return None
    if algorithm not in NAMES:
        raise S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.")

    def digested(source: OpenObject) -> dict[str, str]:
        entry = source.entry
        checksum = known_checksum(entry, algorithm)
        if checksum is None:
            checksum = ObjectChecksum(algorithm, digest(algorithm, source.read()))
        return {**entry.system_metadata, **checksum_metadata(entry.checksum, checksum)}

    return digested


def known_checksum(entry: Entry, algorithm: str) -> ObjectChecksum | None:
    """Returns the checksum of all bytes of an object by an algorithm if it is kept, else None."""
    kept = kept_checksum(entry)
    matches = kept is not None and (kept.algorithm, kept.type) == (algorithm, FULL_OBJECT)
    return kept if matches else None


def digest(algorithm: str, pieces: Iterable[bytes]) -> str:
    """Returns the checksum of pieces, one after another, as S3 writes it."""
    hasher = ALGORITHMS[algorithm].new()
    with Hashing([hasher]) as hashing:
        for piece in pieces:
            hashing.update(piece)
    return encode(hasher.digest())
