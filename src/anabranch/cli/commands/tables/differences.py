"""The differences between two states of a table: what `table diff` lists, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

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
    """Yields how a table differs between two descriptions of it, None where it is not."""
    if left is None or right is None:
        sides = [None if side is None else _rows_text(side) for side in (left, right)]
        yield Difference(name, "table", name, *sides)
        return
    if left["metadata_location"] and left["metadata_location"] == right["metadata_location"]:
        return
    for kind in ("uuid", "format"):
        label = "table-uuid" if kind == "uuid" else kind
        yield from _changed(name, label, "", left.get(kind), right.get(kind))
    yield from _columns(name, left, right)
    for label in ("partitioning", "sort_order"):
        texts = (left[label] or None, right[label] or None)
        yield from _changed(name, label.replace("_", " "), "", *texts)
    yield from _by_key(name, "property", left["properties"], right["properties"])
    yield from _by_key(name, "reference", _refs(left), _refs(right))
    noun = "version" if right["format"] == "delta" else "snapshot"
    yield from _by_key(name, noun, _snapshots(left), _snapshots(right))
    yield from _changed(name, "rows", "", left["rows"], right["rows"])


def _columns(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Difference]:
    old, new = ({each["id"]: each for each in side["columns"]} for side in (before, after))
    for number in old | new:
        left, right = old.get(number), new.get(number)
        if left is None or right is None:
            sides = [None if side is None else _type_text(side) for side in (left, right)]
            column = right or left
            yield Difference(name, "column", column["name"] if column else "", *sides)
        elif left != right:
            texts = [f"{each['name']}: {_type_text(each)}" for each in (left, right)]
            if left["name"] == right["name"]:
                texts = [_type_text(left), _type_text(right)]
            if left["comment"] != right["comment"]:
                texts = [
                    f"{text} -- {each['comment']}" if each["comment"] else text
                    for text, each in zip(texts, (left, right), strict=True)
                ]
            yield Difference(name, "column", right["name"], *texts)


def _type_text(column: Mapping[str, Any]) -> str:
    return f"{column['type']} required" if column["required"] else str(column["type"])


def _changed(name: str, kind: str, subject: str, left: Any, right: Any) -> Iterator[Difference]:
    if left != right:
        yield Difference(name, kind, subject, left, right)


def _by_key(
    name: str, kind: str, left: Mapping[str, Any], right: Mapping[str, Any]
) -> Iterator[Difference]:
    for key in {**left, **right}:
        yield from _changed(name, kind, key, left.get(key), right.get(key))


def _refs(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: f"{ref.get('type')} at {ref.get('snapshot-id')}"
        for name, ref in sorted(table["refs"].items())
    }


def _snapshots(table: Mapping[str, Any]) -> dict[str, str]:
    return {str(each["snapshot_id"]): _snapshot_text(each) for each in table["snapshots"]}


def _snapshot_text(item: Mapping[str, Any]) -> str:
    counts = [f"+{item['added_rows']:,} rows"] if item["added_rows"] else []
    counts += [f"-{item['deleted_rows']:,} rows"] if item["deleted_rows"] else []
    return " ".join([item["operation"] or "snapshot", *counts])


def _rows_text(table: Mapping[str, Any]) -> str:
    text, rows = str(table["format"]), table["rows"]
    return text if rows is None else f"{text}, {rows:,} rows"
