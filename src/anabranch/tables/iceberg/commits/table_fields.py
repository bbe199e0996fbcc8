"""Other fields of a table, as a commit changes them."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

from anabranch.tables.iceberg.commits.draft import Draft
from anabranch.tables.iceberg.commits.normal_metadata import LINEAGE_VERSION, check_version
from anabranch.tables.iceberg.commits.refusals import refused

__all__ = [
    "FORMAT_VERSION",
    "RESERVED",
    "add_encryption_key",
    "assign_uuid",
    "remove_encryption_key",
    "remove_properties",
    "remove_statistics",
    "require_row_lineage",
    "set_location",
    "set_properties",
    "set_statistics",
    "upgrade",
    "version_number",
]

FORMAT_VERSION = "format-version"
RESERVED = frozenset(
    (
        FORMAT_VERSION,
        "uuid",
        "snapshot-count",
        "current-snapshot-id",
        "current-snapshot-summary",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    )
)
"""Properties that engines show for fields of the metadata; they are never stored."""


def assign_uuid(draft: Draft, given: str) -> None:
    """Sets the UUID of a new table. Raises Invalid for a table that has another."""
    try:
        new = str(uuid.UUID(given))
    except ValueError as error:
        raise refused(f"{given!r:.100} is no UUID") from error
    known = draft.get("table-uuid")
    if known is None:
        draft.set(table_uuid=new)
    elif known.lower() != new:
        raise refused(f"the table has the UUID {known}, which cannot be changed")


def upgrade(draft: Draft, version: int) -> None:
    """Raises the format version. Raises Invalid for a lower one, and one that is not known."""
    check_version(version)
    before = draft.version
    if version < before:
        raise refused(f"a table of format version {before} cannot go back to {version}")
    if version == before:
        return
    if before == 1:
        for snapshot in draft.snapshots.values():
            if not snapshot.get("manifest-list"):
                raise refused(
                    f"snapshot {snapshot['snapshot-id']} has no manifest list, which version "
                    f"{version} needs: expire it first"
                )
        draft.set(last_sequence_number=0)
    if version >= LINEAGE_VERSION:
        draft.set(next_row_id=0)
    draft.set(format_version=version)


def require_row_lineage(draft: Draft) -> None:
    """Does nothing for tables whose rows have ids always. Raises Invalid for others."""
    if draft.version < LINEAGE_VERSION:
        raise refused(f"row lineage needs format version {LINEAGE_VERSION}")


def set_location(draft: Draft, location: str) -> None:
    """Sets the address below which writers put files of the table."""
    location = location.rstrip("/")
    if not location:
        raise refused("the location is empty")
    if draft.get("location") != location:
        draft.set(location=location)


def set_properties(draft: Draft, updates: Mapping[str, str]) -> None:
    """Sets properties. The format version among them is raised, as in the Java library."""
    if FORMAT_VERSION in updates:
        upgrade(draft, version_number(updates[FORMAT_VERSION]))
    for name, value in updates.items():
        if name not in RESERVED and draft.properties.get(name) != value:
            draft.properties[name] = value
            draft.is_changed = True


def version_number(given: str) -> int:
    """Returns the format version that the property names. Raises Invalid for no number."""
    if given not in {"1", "2", "3"}:
        raise refused(f"there is no format version {given!r:.100}")
    return int(given)


def remove_properties(draft: Draft, names: Collection[str]) -> None:
    """Removes the properties that are there."""
    for name in names:
        if draft.properties.pop(name, None) is not None:
            draft.is_changed = True


def set_statistics(draft: Draft, kind: str, given: Mapping[str, Any]) -> None:
    """Sets the file of statistics of a snapshot."""
    files = draft.statistics[kind]
    if files.get(given["snapshot-id"]) != given:
        files.pop(given["snapshot-id"], None)  # the new one stands at the end
        files[given["snapshot-id"]] = given
        draft.is_changed = True


def remove_statistics(draft: Draft, kind: str, number: int) -> None:
    """Removes the file of statistics of a snapshot, if it has one."""
    if draft.statistics[kind].pop(number, None) is not None:
        draft.is_changed = True


def add_encryption_key(draft: Draft, given: Mapping[str, Any]) -> None:
    """Adds an encrypted key. Raises Invalid if another has its id, or the table has no keys."""
    if draft.version < LINEAGE_VERSION:
        raise refused(f"encryption keys need format version {LINEAGE_VERSION}")
    known = draft.encryption_keys.setdefault(given["key-id"], given)
    if known is given:
        draft.is_changed = True
    elif known != given:
        raise refused(f"the table has another key with the id {given['key-id']!r}")


def remove_encryption_key(draft: Draft, key_id: str) -> None:
    """Removes an encrypted key, if it is there."""
    if draft.encryption_keys.pop(key_id, None) is not None:
        draft.is_changed = True
