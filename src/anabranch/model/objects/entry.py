"""Entries: a repository's records of objects."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from anabranch.errors import Invalid

__all__ = ["CONTENT_HEADERS", "DEFAULT_CONTENT_TYPE", "SYSTEM_PREFIX", "USER_PREFIX"]
__all__ += ["AddressType", "Entry", "physical_address", "relative_address", "user_metadata"]

DEFAULT_CONTENT_TYPE = "application/octet-stream"

SYSTEM_PREFIX = "::anabranch::"
"""The prefix of the keys of system metadata."""


USER_PREFIX = "X-Amz-Meta-"
"""The prefix of the keys of metadata that S3 clients send, as in lakeFS."""

CONTENT_HEADERS = (
    "Cache-Control",
    "Content-Disposition",
    "Content-Encoding",
    "Content-Language",
    "Expires",
)
"""The keys of metadata that are standard headers."""

MAX_USER_METADATA_BYTES = 2048
MAX_METADATA_BYTES = 8192
"""The most bytes of keys and values together, without USER_PREFIX and with CONTENT_HEADERS, as in
S3: with more, clients of S3 cannot read the object.
"""


class AddressType(enum.IntEnum):
    """Whether an entry's address is relative or full. BY_PREFIX, lakeFS's oldest form, is full if
    the address contains `://`.
    """

    BY_PREFIX = 0
    RELATIVE = 1
    FULL = 2


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable object: the address, size and checksum of its bytes, and its metadata.

    `size` is in bytes, `mtime` in seconds since 1970; `checksum` is the hex MD5 of content that
    Anabranch has stored in one piece, else an ETag: that of a multipart upload, which lakeFS cuts
    off at its `-`, or the object store's. `metadata` is the user's. `system_metadata`
    is for the server's own use, such as checksums: it is not shown to clients, and not part of the
    entry's identity. In the entry's record both are one map, in which the keys of system metadata
    begin with SYSTEM_PREFIX.
    """

    address: str
    address_type: int = AddressType.RELATIVE
    size: int
    mtime: int
    checksum: str
    metadata: dict[str, str] = {}
    content_type: str = DEFAULT_CONTENT_TYPE
    mtime_nanos: int = 0
    system_metadata: dict[str, str] = {}

    def full_address(self, storage_namespace: str) -> str:
        """Returns the full address of the bytes, for an entry of a repository with a namespace."""
        return physical_address(storage_namespace, self.address, self.address_type)


def user_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the metadata that a client sends for an object, without keys of system metadata.
    Raises Invalid (kind metadata_too_large).
    """
    if not metadata:
        return {}
    user = {key: text for key, text in metadata.items() if not key.startswith(SYSTEM_PREFIX)}
    own = total = 0
    for key, text in user.items():
        named = key[len(USER_PREFIX) :] if key.lower().startswith(USER_PREFIX.lower()) else key
        length = len(f"{named}{text}".encode("utf-8", "surrogatepass"))
        total += length
        own += 0 if key in CONTENT_HEADERS else length
    if own > MAX_USER_METADATA_BYTES or total > MAX_METADATA_BYTES:
        raise Invalid(
            f"the user metadata have {own:,} bytes, at most {MAX_USER_METADATA_BYTES:,}"
            if own > MAX_USER_METADATA_BYTES
            else f"the metadata have {total:,} bytes, at most {MAX_METADATA_BYTES:,}",
            kind="metadata_too_large",
            hint="Keep long texts in an object of their own.",
        )
    return user


def physical_address(storage_namespace: str, address: str, address_type: int) -> str:
    """Returns the full address of an entry's bytes."""
    full = address_type == AddressType.FULL or (
        address_type == AddressType.BY_PREFIX and "://" in address
    )
    return address if full else f"{storage_namespace.rstrip('/')}/{address}"


def relative_address(storage_namespace: str, address: str) -> str | None:
    """Returns a full address relative to a repository, None if it is not in its data."""
    namespace = f"{storage_namespace.rstrip('/')}/"
    return address.removeprefix(namespace) if address.startswith(f"{namespace}data/") else None
