"""`table diff`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.commands.tables.catalog import (
    NOT_FOUND,
    catalog_of,
    is_table,
    reference_of,
    walk,
)
from anabranch.cli.commands.tables.differences import Difference, differences
from anabranch.cli.commands.tables.folders import find_folder_table
from anabranch.cli.commands.tables.metadata import describe
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (
    *(Column("CHANGE", "change"), Column("TABLE", "name"), Column("WHAT"), Column("NAME")),
    *(Column("LEFT"), Column("RIGHT")),
)


def run(context: CommandContext) -> None:
    """Shows how tables of one reference differ from those of another."""
    left: TableAddress = context.arguments.left
    right = _right(left, context.arguments.right)
    with catalog_of(context) as catalog:
        if left.folder or right.folder:
            found = _folder_differences(context, catalog, left, right)
        else:
            found = _differences(catalog, left, right)
        if context.output.json:
            context.output.rows((), map(_item, found), tuple)
        else:
            context.output.rows(_COLUMNS, found, lambda each: (each.change, *each))


def _item(found: Difference) -> dict[str, Any]:
    return {"change": found.change, **found._asdict()}


def _right(left: TableAddress, given: str | TableAddress) -> TableAddress:
    if isinstance(given, str):
        return left._replace(ref=given)
    if given.parts or given.folder:
        return given
    return given._replace(parts=left.parts, folder=left.folder)


def _folder_differences(
    context: CommandContext, catalog: TableCatalog, left: TableAddress, right: TableAddress
) -> Iterator[Difference]:
    """Yields how two tables differ of which at least one is in a folder."""
    sides = []
    for side in (left, right):
        if side.folder:
            sides.append(find_folder_table(context, side))
        elif is_table(catalog, side):
            sides.append(_load(catalog, side))
        else:
            raise Usage(f"{side.text} is no table", hint="Name two tables, or two folders.")
    if sides == [None, None]:
        raise Failure(
            f"neither side has a table in {left.text}",
            kind="not_found",
            hint=f"`anabranch table list {printed(*reference_of(left))}` shows what is there.",
        )
    yield from differences(right.text, *sides)


def _differences(
    catalog: TableCatalog, left: TableAddress, right: TableAddress
) -> Iterator[Difference]:
    if is_table(catalog, left) or is_table(catalog, right):
        sides = (_load(catalog, left), _load(catalog, right))
        yield from differences(joined(right.parts), *sides)
        return
    if left.parts != right.parts:
        raise Usage("two namespaces of other names are not compared", hint="Name two tables.")
    there = [_tables(catalog, side) for side in (left, right)]
    if there == [None, None]:
        raise Failure(
            f"neither side has the table or namespace {joined(left.parts)}",
            kind="not_found",
            hint=f"`anabranch table list {printed(*reference_of(left))}` shows what is there.",
        )
    before, after = (found or set() for found in there)
    for parts in sorted(before | after):
        sides = (
            _load(catalog, left._replace(parts=parts)) if parts in before else None,
            _load(catalog, right._replace(parts=parts)) if parts in after else None,
        )
        yield from differences(joined(parts), *sides)


def _tables(catalog: TableCatalog, address: TableAddress) -> set[tuple[str, ...]] | None:
    """Returns the names of the tables of a namespace or a reference; None without the namespace."""
    at = reference_of(address)
    try:
        return {parts for kind, parts in walk(catalog, at, address.parts) if kind == "table"}
    except Failure as failure:
        if failure.status == NOT_FOUND and address.parts:
            _require(catalog, at)
            return None
        raise


def _require(catalog: TableCatalog, at: Reference) -> None:
    """Raises Failure if a reference does not exist: it has no namespaces for another reason."""
    catalog.namespaces(at)


def _load(catalog: TableCatalog, address: TableAddress) -> dict[str, Any] | None:
    at = reference_of(address)
    try:
        table = catalog.load(at, address.namespace, address.name)
    except Failure as failure:
        if failure.status != NOT_FOUND:
            raise
        _require(catalog, at)
        return None
    return describe(joined(address.parts), table)
