"""Object checksums in response headers and XML elements, and the checksum of a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.blocks.hashing import BackgroundHasher
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.model.objects.entry import Entry
from anabranch.model.uploads.object_checksum import (
    FULL_OBJECT,
    ObjectChecksum,
    checksum_metadata,
    stored_checksum,
)
from anabranch.s3.call import Call
from anabranch.s3.payloads.checksums import ALGORITHMS, PREFIX, encode
from anabranch.s3.payloads.part_checksums import NAMES, element_name
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import leaf

__all__ = [
    "ALGORITHM",
    "checksum_elements",
    "checksum_headers",
    "compute_checksum",
    "full_object_checksum",
    "make_copy_checksum",
    "wants_checksum",
]

ALGORITHM = f"{PREFIX}algorithm"
"""The header that requests a checksum by an algorithm."""

_MODE = f"{PREFIX}mode"
_ENABLED = "ENABLED"


def wants_checksum(call: Call) -> bool:
    """Returns whether a read requests the object's checksum."""
    return call.request.headers.get(_MODE, "").upper() == _ENABLED


def checksum_headers(
    checksum: ObjectChecksum | None, whole: ObjectChecksum | None = None
) -> list[tuple[str, str]]:
    """Returns the headers for a checksum, none if it is None. The type is that of the `whole`
    object's checksum, if the checksum is that of a part.
    """
    if checksum is None or checksum.algorithm not in ALGORITHMS:
        return []
    kind = (whole or checksum).type
    return [(PREFIX + checksum.algorithm, checksum.value), (f"{PREFIX}type", kind)]


def checksum_elements(checksum: ObjectChecksum | None) -> str:
    """Returns the elements for a checksum, none if it is None."""
    if checksum is None or checksum.algorithm not in ALGORITHMS:
        return ""
    return leaf(element_name(checksum.algorithm), checksum.value) + leaf(
        "ChecksumType", checksum.type
    )


def make_copy_checksum(call: Call) -> Callable[[OpenObject], dict[str, str]] | None:
    """Returns a function from a copy's source to the copy's system metadata if the request names a
    checksum algorithm, else None. Raises S3Error: InvalidRequest for an unknown algorithm.
    """
    algorithm = call.header(ALGORITHM).lower()
    if not algorithm:
        return None
    if algorithm not in NAMES:
        raise S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.")

    def digested(source: OpenObject) -> dict[str, str]:
        entry = source.entry
        checksum = full_object_checksum(entry, algorithm)
        if checksum is None:
            checksum = ObjectChecksum(algorithm, compute_checksum(algorithm, source.chunks()))
        return {**entry.system_metadata, **checksum_metadata(entry.checksum, checksum)}

    return digested


def full_object_checksum(entry: Entry, algorithm: str) -> ObjectChecksum | None:
    """Returns the stored full-object checksum by an algorithm, None if there is none."""
    stored = stored_checksum(entry)
    matches = stored is not None and (stored.algorithm, stored.type) == (algorithm, FULL_OBJECT)
    return stored if matches else None


def compute_checksum(algorithm: str, pieces: Iterable[bytes]) -> str:
    """Returns the base64 checksum of the concatenated pieces."""
    hasher = ALGORITHMS[algorithm].new()
    with BackgroundHasher([hasher]) as hashing:
        for piece in pieces:
            hashing.update(piece)
    return encode(hasher.digest())
