"""Rows of `changes`: the objects that differ between two references, with both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.snapshots import Comparison
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.pipelines.metadata_columns import CHANGES
from anabranch.pipelines.queries.metadata.search_conditions import SqlCondition, search_conditions

__all__ = ["change_batches"]

_BATCH_ROWS = 5000
_HIGHEST = b"\xff" * 8
_TIMES = range(-(2**63), 2**63)


def change_batches(
    comparison: Comparison,
    prefix: str,
    readable: ReadablePaths | None,
    columns: Sequence[str],
    conditions: Sequence[SqlCondition],
) -> Iterator[pa.RecordBatch]:
    """Yields the changes of readable objects whose paths begin with a prefix, all if `readable` is
    None.
    """
    schema = pa.schema([CHANGES.field(name) for name in columns])
    keys = search_conditions(conditions)
    after, end, has_more = _before(keys.start), keys.end, True
    while has_more:
        page = comparison.page(prefix=prefix, after=after, amount=_BATCH_ROWS, readable=readable)
        changes = page.items
        if end is not None:
            changes = [each for each in changes if encode_path(each.path) < end]
        rows = [
            {
                "change": change.kind,
                "path": _shown(change.path),
                "left": _side(comparison, change.path, change.left, "left" in columns),
                "right": _side(comparison, change.path, change.right, "right" in columns),
            }
            for change in changes
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)
        has_more, after = page.has_more and len(changes) == len(page.items), page.next_offset


def _side(
    comparison: Comparison, path: str, entry: Entry | None, wanted: bool
) -> dict[str, Any] | None:
    if entry is None or not wanted:
        return None
    time = entry.mtime * 1_000_000 + entry.mtime_nanos // 1000
    return {
        "physical_address": _shown(comparison.stat(path, entry).physical_address),
        "last_modified": time if time in _TIMES else None,
        "size": entry.size,
        "checksum": _shown(entry.checksum),
        "metadata": list(
            {_shown(key): _shown(text) for key, text in entry.metadata.items()}.items()
        ),
        "content_type": _shown(entry.content_type),
    }


def _shown(text: str) -> str:
    """Returns a text as listings show it: bytes that are not UTF-8 are replacement characters."""
    return text if text.isascii() else encode_path(text).decode("utf-8", "replace")


def _before(start: bytes) -> str:
    """Returns a path below all keys that are at least `start`, and above nearly all others."""
    if not start:
        return ""
    return decode_key(start[:-1] + (bytes([start[-1] - 1, *_HIGHEST]) if start[-1] else b""))
