"""What all commands of `table` need: the catalog's connection, and the tables below an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress

__all__ = ["NOT_FOUND", "catalog_of", "is_table", "reference_of", "walk"]

NOT_FOUND = 404


@contextmanager
def catalog_of(context: CommandContext) -> Iterator[TableCatalog]:
    """Gives the catalog of the server that the command's settings name."""
    with closing(TableCatalog(context.settings, context.environment)) as catalog:
        yield catalog


def reference_of(address: TableAddress) -> Reference:
    """Returns the reference of an address."""
    return Reference(address.repository, address.ref)


def walk(
    catalog: TableCatalog, at: Reference, namespace: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields what a namespace and those in it have: "namespace", "table" or "view", and the name,
    in order; each namespace before its content.
    """
    if namespace:
        for kind in ("table", "view"):
            for name in catalog.names(at, f"{kind}s", namespace):
                yield kind, (*namespace, name)
    for inner in catalog.namespaces(at, namespace):
        yield "namespace", inner
        yield from walk(catalog, at, inner)


def is_table(catalog: TableCatalog, address: TableAddress) -> bool:
    """Returns whether an address names a table, and not a namespace. Raises Failure if it may be
    neither.
    """
    if not address.parts[1:]:
        return False
    at = reference_of(address)
    try:
        return address.name in catalog.names(at, "tables", address.namespace)
    except Failure as failure:
        if failure.status == NOT_FOUND:
            return False
        raise
