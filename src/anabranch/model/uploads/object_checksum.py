"""The additional checksum of an object, as sent by S3 clients, stored in its system metadata.

    ::anabranch::checksum    90015098 crc32 NSRBwg==

The text consists of the first 8 digits of the object's ETag, the algorithm, and the checksum in
base64, with a dash and the number of parts if it is a checksum of the parts' checksums. lakeFS
copies it as user metadata; for an object with other bytes, and so another ETag, it is ignored.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.model.objects.entry import Entry

__all__ = ["COMPOSITE", "FULL_OBJECT", "ObjectChecksum", "checksum_metadata", "stored_checksum"]

COMPOSITE, FULL_OBJECT = "COMPOSITE", "FULL_OBJECT"
"""The types of checksums: over the checksums of the parts, or over the bytes."""

KEY = "::anabranch::checksum"
ETAG_DIGITS = 8

_ETAG = re.compile(r"[0-9a-f]{32}(?:-[0-9]{1,5})?")
_TEXT = re.compile(
    r"([0-9a-f]{8}) ([a-z0-9]{3,12}) ((?:[A-Za-z0-9+/]{4}){1,22}(?:[A-Za-z0-9+/]{2,3}={1,2})?"
    r"(?:-[0-9]{1,5})?)"
)


class ObjectChecksum(NamedTuple):
    """The name of an algorithm, in lower case, and the checksum as S3 writes it."""

    algorithm: str
    value: str

    @property
    def type(self) -> str:
        """COMPOSITE or FULL_OBJECT."""
        return COMPOSITE if "-" in self.value else FULL_OBJECT


def checksum_metadata(etag: str, checksum: ObjectChecksum | None) -> dict[str, str]:
    """Returns the system metadata that store the checksum of an object with this ETag; empty
    without a checksum, and for an ETag that is not an MD5 and so does not identify the bytes.
    """
    if checksum is None or not _ETAG.fullmatch(etag):
        return {}
    return {KEY: f"{etag[:ETAG_DIGITS]} {checksum.algorithm} {checksum.value}"}


def stored_checksum(entry: Entry) -> ObjectChecksum | None:
    """Returns the checksum stored with an object; None without one, and if it is malformed or
    belongs to other bytes.
    """
    text = entry.system_metadata.get(KEY)
    match = None if text is None else _TEXT.fullmatch(text)
    if match is None or not entry.checksum.startswith(match[1]):
        return None
    return ObjectChecksum(match[2], match[3])
