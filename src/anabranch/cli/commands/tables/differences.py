"""The differences between two states of a table: what `table diff` lists, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from anabranch.cli.commands.tables.metadata import (
    columns_of,
    partitioning_of,
    snapshot_item,
    snapshots_of,
    sort_order_of,
    summary_of,
)

__all__ = ["Difference", "differences"]


class Difference(NamedTuple):
    """One difference of a table: its `kind`, such as "column", what it is about, and the texts or
    numbers on both sides, None on a side that has none.
    """

    table: str
    kind: str
    name: str
    left: Any
    right: Any

    @property
    def change(self) -> str:
        """What has become of the left side: added, removed or changed."""
        if self.left is None:
            return "added"
        return "removed" if self.right is None else "changed"


def differences(
    name: str, left: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> Iterator[Difference]:
    """Yields how a table differs between two states that were loaded, None where it is not."""
    if left is None or right is None:
        sides = [None if side is None else _rows_text(side) for side in (left, right)]
        yield Difference(name, "table", name, *sides)
        return
    if left["metadata-location"] == right["metadata-location"]:
        return
    before, after = left["metadata"], right["metadata"]
    for kind, texts in (
        ("table-uuid", (before.get("table-uuid"), after.get("table-uuid"))),
        ("format", (summary_of(left)["format"], summary_of(right)["format"])),
    ):
        yield from _changed(name, kind, "", *texts)
    yield from _columns(name, before, after)
    for kind, texts in (
        ("partitioning", (partitioning_of(before), partitioning_of(after))),
        ("sort order", (sort_order_of(before), sort_order_of(after))),
    ):
        yield from _changed(name, kind, "", *(text or None for text in texts))
    yield from _by_key(
        name, "property", *(side.get("properties") or {} for side in (before, after))
    )
    yield from _by_key(name, "reference", _refs(before), _refs(after))
    yield from _by_key(name, "snapshot", _snapshots(before), _snapshots(after))
    yield from _changed(name, "rows", "", summary_of(left)["rows"], summary_of(right)["rows"])


def _columns(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    old, new = ({each.id: each for each in columns_of(side)} for side in (before, after))
    for number in old | new:
        left, right = old.get(number), new.get(number)
        if left is None or right is None:
            sides = [None if side is None else side.text for side in (left, right)]
            column = right or left
            yield Difference(name, "column", column.name if column else "", *sides)
        elif left != right:
            texts = [f"{each.name}: {each.text}" for each in (left, right)]
            if left.name == right.name:
                texts = [left.text, right.text]
            if left.comment != right.comment:
                texts = [
                    f"{text} -- {each.comment}" if each.comment else text
                    for text, each in zip(texts, (left, right), strict=True)
                ]
            yield Difference(name, "column", right.name, *texts)


def _changed(name: str, kind: str, subject: str, left: Any, right: Any) -> Iterator[Difference]:
    if left != right:
        yield Difference(name, kind, subject, left, right)


def _by_key(
    name: str, kind: str, left: Mapping[str, Any], right: Mapping[str, Any]
) -> Iterator[Difference]:
    for key in {**left, **right}:
        yield from _changed(name, kind, key, left.get(key), right.get(key))


def _refs(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: f"{ref.get('type')} at {ref.get('snapshot-id')}"
        for name, ref in sorted((metadata.get("refs") or {}).items())
    }


def _snapshots(metadata: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(number): _snapshot_text(snapshot_item(each))
        for number, each in snapshots_of(metadata).items()
    }


def _snapshot_text(item: Mapping[str, Any]) -> str:
    counts = [f"+{item['added_rows']:,} rows"] if item["added_rows"] else []
    counts += [f"-{item['deleted_rows']:,} rows"] if item["deleted_rows"] else []
    return " ".join([item["operation"] or "snapshot", *counts])


def _rows_text(table: Mapping[str, Any]) -> str:
    summary = summary_of(table)
    rows = summary["rows"]
    return summary["format"] if rows is None else f"{summary['format']}, {rows:,} rows"
