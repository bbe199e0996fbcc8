"""`table register`."""

from __future__ import annotations

from anabranch.cli.commands.tables.catalog import NOT_FOUND, catalog_of, reference_of
from anabranch.cli.commands.tables.folders import preview
from anabranch.cli.commands.tables.metadata import describe
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined

__all__ = ["run"]

_SCHEMES = ("s3", "s3a", "lakefs")


def run(context: CommandContext) -> None:
    """Makes a table of a branch of an existing metadata file, or of the last one of a folder."""
    given = context.arguments
    location = _metadata_location(context, given.metadata)
    at, namespace = reference_of(given.table), given.table.namespace
    with catalog_of(context) as catalog:
        if given.create_namespace and not catalog.has_namespace(at, namespace):
            catalog.create_namespace(at, namespace)
        try:
            table = catalog.register(at, namespace, given.table.name, location)
        except Failure as failure:
            if failure.status == NOT_FOUND and not catalog.has_namespace(at, namespace):
                failure.hint = "Add --create-namespace to create the namespace."
            raise
    name = joined(given.table.parts)
    context.output.done(f"Registered {printed(*at, name)}", describe(name, table))


def _metadata_location(context: CommandContext, address: str) -> str:
    """Returns the address of a metadata file: of a folder's, which ends in a slash, the last one.
    Raises Usage for a folder of no repository, Failure for one without a table.
    """
    scheme, separator, rest = address.partition("://")
    repository, _, inner = rest.partition("/")
    ref, slash, folder = inner.partition("/")
    if not address.endswith("/"):
        return address
    if not separator or scheme not in _SCHEMES or not slash or not folder:
        raise Usage(
            f"{address!r} is no folder of a repository",
            hint="Write it like s3://my-repository/main/folder/",
        )
    table = preview(context, TableAddress(repository, ref, folder=folder))
    if not table["metadata_path"]:
        raise Failure(
            f"{folder} is a table of Delta Lake",
            kind="invalid",
            hint="The catalog has tables of Iceberg alone.",
        )
    return f"s3://{repository}/{ref}/{table['metadata_path']}"
