"""The stored form of entries: an identity and a protobuf record, as in the kernel."""

from __future__ import annotations

from anabranch import _kernel as kernel
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.entry_records import Value, entry_from, unreadable

__all__ = ["Value", "entry_from", "entry_value", "unreadable"]


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
