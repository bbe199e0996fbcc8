"""Addresses of tables on the command line: `lakefs://repository/ref/namespace.table` of one of the
catalog, and `lakefs://repository/ref/folder/` of one in a folder.

A dot, a slash or a percent sign in a name is written %2E, %2F or %25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from anabranch.catalog.tables.iceberg.identifiers import TABLE_FILE, identifier_at, record_path
from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import prefix_address

__all__ = [
    "TableAddress",
    "catalog_table_address",
    "joined",
    "namespace_address",
    "table_address",
    "table_or_ref",
]

_EXAMPLE = "Write it like lakefs://my-repository/main/city.trips"
_FOLDER_EXAMPLE = f"{_EXAMPLE}, or lakefs://my-repository/main/folder/"
_ESCAPES = {"%": "%25", ".": "%2E", "/": "%2F"}


class TableAddress(NamedTuple):
    """A table, or a namespace, or all of a reference: `parts` are those of its name. What is no
    name but a `folder`, with a slash at its end, has none.
    """

    repository: str
    ref: str
    parts: tuple[str, ...] = ()
    folder: str = ""

    @property
    def namespace(self) -> tuple[str, ...]:
        """The namespace of the table."""
        return self.parts[:-1]

    @property
    def name(self) -> str:
        """The name of the table in its namespace."""
        return self.parts[-1]

    @property
    def text(self) -> str:
        """The name of the table, or its folder, as it stands in an address."""
        return self.folder or joined(self.parts)


def namespace_address(text: str) -> TableAddress:
    """Returns the address of a reference, or of a namespace, a table or a folder in it, or that of
    the record of a table; raises Usage.
    """
    uri = prefix_address(text)
    if "/" in uri.key:
        identifier = identifier_at(uri.key)
        if identifier is not None and uri.key == record_path(identifier, TABLE_FILE):
            return TableAddress(uri.repository, uri.ref, (*identifier.namespace, identifier.name))
        return TableAddress(uri.repository, uri.ref, folder=f"{uri.key.rstrip('/')}/")
    parts = tuple(unquote(part) for part in uri.key.split(".")) if uri.key else ()
    if not all(parts):
        raise Usage(f"{text!r} has an empty part in its name", hint=_EXAMPLE)
    return TableAddress(uri.repository, uri.ref, parts)


def table_address(text: str) -> TableAddress:
    """Returns the address of a table or of a folder; raises Usage for anything else."""
    address = namespace_address(text)
    if not address.folder and not address.parts[1:]:
        raise Usage(f"{text!r} names no table of a namespace", hint=_FOLDER_EXAMPLE)
    return address


def catalog_table_address(text: str) -> TableAddress:
    """Returns the address of a table of the catalog; raises Usage for anything else."""
    address = namespace_address(text)
    if not address.parts[1:]:
        raise Usage(f"{text!r} names no table of a namespace", hint=_EXAMPLE)
    return address


def table_or_ref(text: str) -> str | TableAddress:
    """Returns an address as `namespace_address` does, or the name of a ref."""
    return namespace_address(text) if "://" in text else text


def joined(parts: Sequence[str]) -> str:
    """Returns a name as it stands in an address."""
    return ".".join("".join(_ESCAPES.get(sign, sign) for sign in part) for part in parts)
