"""`table unregister`."""

from __future__ import annotations

from anabranch.cli.commands.tables.catalog import catalog_of, reference_of
from anabranch.cli.commands.tables.metadata import describe
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import joined

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Removes a table from a branch, and shows where its last metadata are."""
    table = context.arguments.table
    at = reference_of(table)
    with catalog_of(context) as catalog:
        last = catalog.unregister(at, table.namespace, table.name)
    name = joined(table.parts)
    context.output.done(
        f"Unregistered {printed(*at, name)}: its last metadata are {last['metadata-location']}",
        describe(name, last),
    )
