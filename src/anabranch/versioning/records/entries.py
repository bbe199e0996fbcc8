"""The stored form of entries: an identity and a protobuf record, as in the kernel."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE, SYSTEM_PREFIX, Entry

__all__ = ["Value", "entry_from", "entry_value", "unreadable"]

Value = tuple[bytes, bytes]
"""(identity, data), as in the kernel."""


def entry_value(entry: Entry) -> Value:
    """Returns an entry's identity and record. Only the record includes system metadata."""
    metadata = entry.metadata
    if entry.system_metadata:
        metadata = {**metadata, **entry.system_metadata}
    return kernel.encode_entry(
        entry.address,
        entry.address_type,
        entry.mtime,
        entry.mtime_nanos,
        entry.size,
        entry.checksum,
        metadata,
        entry.content_type,
    )


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
