"""`table expire`: removes old snapshots of a table by a commit through the catalog."""

from __future__ import annotations

from typing import Any

from anabranch.cli.client.table_catalog import TableCatalog
from anabranch.cli.commands.tables.catalog import catalog_of, reference_of
from anabranch.cli.commands.tables.expired_snapshots import expired_snapshots
from anabranch.cli.commands.tables.metadata import snapshot_item, snapshots_of
from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (
    *(Column("SNAPSHOT"), Column("TIME", "time"), Column("OPERATION"), Column("ROWS", "number")),
)
_ATTEMPTS = 10
_CONFLICT = 409


def run(context: CommandContext) -> None:
    """Removes the snapshots of a table that are older than a time."""
    given = context.arguments
    address: TableAddress = given.table
    with catalog_of(context) as catalog:
        table = catalog.load(reference_of(address), address.namespace, address.name)
        numbers = _expired(context, table)
        if given.dry_run:
            known = snapshots_of(table["metadata"])
            items = [snapshot_item(known[number]) for number in numbers]
            context.output.rows(_COLUMNS, items, _cells)
            return
        place = printed(address.repository, address.ref, joined(address.parts))
        if numbers:
            context.confirm(f"Remove {_count(numbers)} of {place}?")
            numbers, table = _remove(context, catalog, table, numbers)
    left = len(snapshots_of(table["metadata"]))
    result = {"removed": numbers, "left": left}
    context.output.done(f"Removed {_count(numbers)} of {place}; it has {left}", result)


def _remove(
    context: CommandContext, catalog: TableCatalog, table: dict[str, Any], numbers: list[int]
) -> tuple[list[int], dict[str, Any]]:
    """Returns the snapshots that were removed, and the table afterwards. Snapshots that a writer
    adds meanwhile may change which ones are kept, so it is decided again then.
    """
    address: TableAddress = context.arguments.table
    at, name = reference_of(address), (address.namespace, address.name)
    for attempt in range(_ATTEMPTS):
        if not numbers:
            break
        try:
            return numbers, catalog.commit(
                *(at, *name),
                requirements=_requirements(table["metadata"]),
                updates=[{"action": "remove-snapshots", "snapshot-ids": numbers}],
            )
        except Failure as failure:
            seen, table = table, catalog.load(at, *name)
            is_same = seen["metadata-location"] == table["metadata-location"]
            if failure.status != _CONFLICT or is_same or attempt == _ATTEMPTS - 1:
                raise
        numbers = _expired(context, table)
    return numbers, table


def _requirements(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what the choice of the snapshots is based on: branches and tags as they are."""
    same = {"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}
    refs = metadata.get("refs") or {}
    return [same] + [
        {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": ref["snapshot-id"]}
        for name, ref in refs.items()
    ]


def _expired(context: CommandContext, table: dict[str, Any]) -> list[int]:
    given = context.arguments
    return expired_snapshots(
        table["metadata"], older_than_ms=int(given.older_than * 1000), retain_last=given.retain_last
    )


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    return item["snapshot_id"], item["time"], item["operation"], item["rows"]


def _count(numbers: list[int]) -> str:
    return f"{len(numbers):,} snapshot{'' if len(numbers) == 1 else 's'}"
