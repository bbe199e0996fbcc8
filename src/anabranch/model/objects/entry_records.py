"""Entries from the records that trees and staging areas have."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, SYSTEM_PREFIX, Entry

__all__ = ["Value", "entry_from", "unreadable"]

Value = tuple[bytes, bytes]
"""(identity, data), as in the kernel."""


def entry_from(value: Value) -> Entry:
    """Returns the entry of a value. Raises Corrupt if the record cannot be decoded."""
    try:
        address, address_type, mtime, nanos, size, checksum, metadata, content_type = (
            kernel.decode_entry(value[1])
        )
    except kernel.KernelError as error:
        raise unreadable(error) from error
    system: dict[str, str] = {}
    if metadata:
        keys = [key for key in metadata if key.startswith(SYSTEM_PREFIX)]
        system = {key: metadata.pop(key) for key in keys}
    return Entry(
        address=address,
        address_type=address_type,
        size=size,
        mtime=mtime,
        mtime_nanos=nanos,
        checksum=checksum,
        metadata=metadata,
        content_type=content_type or DEFAULT_CONTENT_TYPE,
        system_metadata=system,
    )


def unreadable(error: kernel.KernelError) -> Corrupt:
    """Returns Anabranch's error for the kernel's error about an undecodable record."""
    return Corrupt(f"an object's metadata cannot be read: {error}")
