"""Entries and their records."""

from __future__ import annotations

from anabranch import _kernel
from anabranch.model.objects.entry import SYSTEM_PREFIX, Entry
from anabranch.versioning.records.entries import entry_from, entry_value


def test_system_metadata_is_separate_and_not_part_of_identity():
    plain = Entry(address="a", size=1, mtime=2, checksum="c", metadata={"k": "v"})
    system = {f"{SYSTEM_PREFIX}checksum": "x", f"{SYSTEM_PREFIX}of a later version": "y"}
    kept = Entry(
        address="a", size=1, mtime=2, checksum="c", metadata={"k": "v"}, system_metadata=system
    )
    value = entry_value(kept)
    assert entry_from(value) == kept
    assert value[0] == entry_value(plain)[0]
    assert value[1] != entry_value(plain)[1]
    assert _kernel.decode_entry(value[1])[6] == {"k": "v", **system}
