"""What a commit of a Delta log says of itself: its time, its operation, its numbers of rows.

Each writer names its metrics in its own way, and counts what it likes: they are shown, and nothing
is decided by them. Source: the Delta transaction log protocol, section "Commit Provenance
Information", and the metrics of Delta Lake and delta-rs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.tables.live_rows.live_table import TableVersion

__all__ = ["version_of_commit"]

_ADDED = (
    *("numTargetRowsInserted", "num_target_rows_inserted"),
    *("numOutputRows", "num_output_rows", "num_added_rows"),
)
_REMOVED = (
    *("numTargetRowsDeleted", "num_target_rows_deleted"),
    *("numDeletedRows", "num_deleted_rows"),
)
_MAX_DIGITS = 18


class _CommitInfo(msgspec.Struct, rename="camel"):
    timestamp: Any = None
    in_commit_timestamp: Any = None
    operation: Any = None
    operation_metrics: Any = None


class _InfoAction(msgspec.Struct, rename="camel"):
    commit_info: _CommitInfo | None = None


_TO_INFO = msgspec.json.Decoder(_InfoAction)


def version_of_commit(version: int, content: bytes) -> TableVersion:
    """Returns what the content of a commit says of a version, None and "" where it does not."""
    for line in content.splitlines():
        try:
            info = _TO_INFO.decode(line).commit_info if line.strip() else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # the list of versions does without
        if info is not None:
            time = info.in_commit_timestamp or info.timestamp
            metrics = info.operation_metrics
            known = metrics if isinstance(metrics, Mapping) else {}
            return TableVersion(
                version=version,
                time=time if isinstance(time, int) else None,
                operation=info.operation if isinstance(info.operation, str) else "",
                added_rows=_number(known, _ADDED),
                removed_rows=_number(known, _REMOVED),
            )
    return TableVersion(version=version, time=None, operation="")


def _number(metrics: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    """Returns the first metric of some names: a number, or a text of one, as Spark writes it."""
    for name in names:
        text = str(metrics.get(name, ""))
        if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
            return int(text)
    return None
