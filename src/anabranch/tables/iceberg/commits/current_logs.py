"""The logs of what has been current: the snapshots of a table, the versions of a view.

Source: the Iceberg table specification, "Table Metadata Fields", `snapshot-log`, and the Iceberg
view specification, "View Metadata", `version-log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["completed_log"]


def completed_log(
    log: Sequence[Mapping[str, Any]], kept: AbstractSet[int], id_name: str
) -> list[Mapping[str, Any]]:
    """Returns a log whose entries have the ids `kept`. Those before one that is gone are gone, too:
    with a gap, the entry before it would seem to have lasted longer.
    """
    new: list[Mapping[str, Any]] = []
    for entry in log:
        if entry[id_name] in kept:
            new.append(entry)
        else:
            new.clear()
    return new
