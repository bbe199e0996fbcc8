"""`table register`."""

from __future__ import annotations

from anabranch.cli.commands.tables.catalog import NOT_FOUND, catalog_of, reference_of
from anabranch.cli.commands.tables.description import describe
from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import joined

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Makes a table of a branch of an existing metadata file."""
    given = context.arguments
    at, namespace = reference_of(given.table), given.table.namespace
    with catalog_of(context) as catalog:
        if given.create_namespace and not catalog.has_namespace(at, namespace):
            catalog.create_namespace(at, namespace)
        try:
            table = catalog.register(at, namespace, given.table.name, given.metadata)
        except Failure as failure:
            if failure.status == NOT_FOUND and not catalog.has_namespace(at, namespace):
                failure.hint = "Add --create-namespace to create the namespace."
            raise
    name = joined(given.table.parts)
    context.output.done(f"Registered {printed(*at, name)}", describe(name, table))
