"""Which snapshots of a table may be removed, as Iceberg's own expiry of snapshots decides it.

A branch of the table keeps its newest snapshots, as many as it is told to, and those that are young
enough; its own settings come before those of the table and of the caller. A tag keeps its snapshot.
Snapshots that no branch or tag leads to are kept while they are young. Branches and tags stay.

Source: the Iceberg table specification, "Snapshot Retention Policy".
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from anabranch.cli.commands.tables.metadata import snapshots_of

__all__ = ["expired_snapshots"]

_KEPT = "history.expire.min-snapshots-to-keep"


def expired_snapshots(
    metadata: Mapping[str, Any], *, older_than_ms: int, retain_last: int | None = None
) -> list[int]:
    """Returns the ids of the snapshots to remove: of those from before a time, in milliseconds
    since 1970, which nothing keeps. `retain_last` is how many snapshots a branch keeps, by default
    what the table's properties say, or one.
    """
    snapshots = snapshots_of(metadata)
    if retain_last is None:
        kept_text = str((metadata.get("properties") or {}).get(_KEPT, ""))
        retain_last = int(kept_text) if kept_text.isascii() and kept_text.isdigit() else 1
    refs = dict(metadata.get("refs") or {})
    current = metadata.get("current-snapshot-id")
    if "main" not in refs and current in snapshots:  # version 1 names no branches
        refs["main"] = {"type": "branch", "snapshot-id": current}
    kept: set[int] = set()
    reached: set[int] = set()
    for ref in refs.values():
        if ref.get("type") == "tag":
            kept.add(ref["snapshot-id"])
            reached.add(ref["snapshot-id"])
            continue
        least, oldest = _limits(ref, max(retain_last, 1), older_than_ms)
        count, is_kept = 0, True
        for number in _ancestors(ref["snapshot-id"], snapshots):
            reached.add(number)
            is_kept = is_kept and (count < least or snapshots[number]["timestamp-ms"] >= oldest)
            if is_kept:
                kept.add(number)
                count += 1
    kept |= {
        number
        for number, snapshot in snapshots.items()
        if number not in reached and snapshot["timestamp-ms"] >= older_than_ms
    }
    return [number for number in snapshots if number not in kept]


def _limits(ref: Mapping[str, Any], retain_last: int, older_than_ms: int) -> tuple[int, int]:
    """Returns how many snapshots a branch keeps at least, and since when it keeps all."""
    age = ref.get("max-snapshot-age-ms")
    oldest = older_than_ms if age is None else int(time.time() * 1000) - age
    return ref.get("min-snapshots-to-keep") or retain_last, oldest


def _ancestors(number: int, snapshots: Mapping[int, Mapping[str, Any]]) -> Iterator[int]:
    """Yields a snapshot and those before it, as far as the table has them."""
    seen: set[int] = set()
    following: int | None = number
    while following is not None and following in snapshots and following not in seen:
        seen.add(following)
        yield following
        following = snapshots[following].get("parent-snapshot-id")
