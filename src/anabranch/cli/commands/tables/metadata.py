"""What the metadata of an Iceberg table say, as people read it: columns, partitioning, sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from anabranch.tables.iceberg.type_texts import type_text

__all__ = [
    "TableColumn",
    "columns_of",
    "current_snapshot",
    "describe",
    "partitioning_of",
    "snapshot_item",
    "snapshots_of",
    "sort_order_of",
    "summary_of",
]

_TOTALS = {"rows": "total-records", "files": "total-data-files", "size_bytes": "total-files-size"}
_DELTAS = {"added_rows": "added-records", "deleted_rows": "deleted-records"}


class TableColumn(NamedTuple):
    """A column, or a field in one: its id, its name with those around it, its type and comment."""

    id: int
    name: str
    type: str
    required: bool
    comment: str


def describe(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the description of a table that was loaded."""
    metadata = table["metadata"]
    return {
        "name": name,
        "uuid": metadata.get("table-uuid"),
        **summary_of(table),
        "location": metadata.get("location"),
        "metadata_location": table["metadata-location"],
        "columns": [column._asdict() for column in columns_of(metadata)],
        "partitioning": partitioning_of(metadata),
        "sort_order": sort_order_of(metadata),
        "properties": metadata.get("properties") or {},
        "refs": metadata.get("refs") or {},
        "current_snapshot_id": metadata.get("current-snapshot-id"),
        "snapshots": [snapshot_item(each) for each in snapshots_of(metadata).values()],
    }


def summary_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the format, the rows, files and bytes of the current snapshot (None if it does not
    say), the number of snapshots and the time of the last change, of a table that was loaded.
    """
    metadata = table["metadata"]
    snapshot = current_snapshot(metadata)
    if snapshot is None:
        totals: dict[str, int | None] = dict.fromkeys(_TOTALS, 0)
    else:
        totals = _numbers(snapshot, _TOTALS)
    return {
        "format": f"iceberg v{metadata.get('format-version')}",
        **totals,
        "snapshots": len(snapshots_of(metadata)),
        "changed": metadata.get("last-updated-ms", 0) // 1000,
    }


def snapshots_of(metadata: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Returns the snapshots by their ids."""
    return {each["snapshot-id"]: each for each in metadata.get("snapshots") or ()}


def current_snapshot(metadata: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the snapshot that readers see, None for a table without one."""
    return snapshots_of(metadata).get(metadata.get("current-snapshot-id") or -1)


def snapshot_item(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is shown of a snapshot. Numbers that it does not say are None."""
    return {
        "snapshot_id": snapshot["snapshot-id"],
        "time": snapshot.get("timestamp-ms", 0) // 1000,
        "operation": (snapshot.get("summary") or {}).get("operation"),
        **_numbers(snapshot, _DELTAS),
        **_numbers(snapshot, _TOTALS),
    }


def columns_of(metadata: Mapping[str, Any]) -> list[TableColumn]:
    """Returns the columns of the current schema, each before the fields in it."""
    return list(_fields(_chosen(metadata, "schema", "schemas", "current-schema-id"), ""))


def partitioning_of(metadata: Mapping[str, Any]) -> str:
    """Returns the partition spec: `day(start), bucket[16](id)`; empty without one."""
    names = {column.id: column.name for column in columns_of(metadata)}
    spec = _chosen(metadata, "partition-spec", "partition-specs", "default-spec-id", "spec-id")
    fields = spec.get("fields") if isinstance(spec, Mapping) else spec  # version 1 has a list
    return ", ".join(_transformed(field, names) for field in fields or ())


def sort_order_of(metadata: Mapping[str, Any]) -> str:
    """Returns the sort order: `id asc, day(start) desc`; empty without one."""
    names = {column.id: column.name for column in columns_of(metadata)}
    order = _chosen(metadata, "", "sort-orders", "default-sort-order-id", "order-id")
    fields = order.get("fields") or ()
    return ", ".join(f"{_transformed(each, names)} {each.get('direction', '')}" for each in fields)


def _fields(given: Any, outer: str) -> Iterator[TableColumn]:
    if not isinstance(given, Mapping):
        return
    for each in given.get("fields") or ():
        name = f"{outer}{each['name']}"
        comment = each.get("doc") or ""
        shown = type_text(each["type"])
        yield TableColumn(each["id"], name, shown, bool(each.get("required")), comment)
        yield from _fields(each["type"], f"{name}.")
    for part in ("element", "key", "value"):
        if isinstance(given.get(part), Mapping):
            yield from _fields(given[part], f"{outer}{part}.")


def _chosen(
    metadata: Mapping[str, Any], single: str, many: str, chosen: str, key: str = "schema-id"
) -> Any:
    """Returns the definition that is in force; version 1 may have it alone, as `single`."""
    wanted = metadata.get(chosen, 0)
    found = (each for each in metadata.get(many) or () if each.get(key, 0) == wanted)
    return next(found, metadata.get(single) or {})


def _transformed(field: Mapping[str, Any], names: Mapping[int, str]) -> str:
    sources = field.get("source-ids") or [field.get("source-id")]
    source = ", ".join(names.get(each, f"#{each}") for each in sources)
    transform = field.get("transform", "identity")
    return source if transform == "identity" else f"{transform}({source})"


def _numbers(snapshot: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, int | None]:
    summary = snapshot.get("summary") or {}
    texts = {name: str(summary.get(key, "")) for name, key in names.items()}
    return {
        name: int(text) if text.isascii() and text.isdigit() else None
        for name, text in texts.items()
    }
