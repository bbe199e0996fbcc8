"""The log of the snapshots that have been a table's current one.

Source: the Iceberg table specification, "Table Metadata Fields", `snapshot-log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["completed_log"]


def completed_log(
    log: Sequence[Mapping[str, Any]],
    snapshots: AbstractSet[int],
    intermediate: AbstractSet[int],
    *,
    has_removed: bool,
) -> list[Mapping[str, Any]]:
    """Returns the log after a commit, which leaves these `snapshots`. `intermediate` ones were
    current only between two updates of the commit, so nobody has seen them.
    """
    kept: list[Mapping[str, Any]] = []
    for entry in log:
        if entry["snapshot-id"] not in snapshots:
            if has_removed:  # with a gap, the entry before it would seem to have lasted longer
                kept.clear()
        elif entry["snapshot-id"] not in intermediate:
            kept.append(entry)
    return kept
