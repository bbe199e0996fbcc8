"""Addresses of tables on the command line: `lakefs://repository/ref/namespace.table`.

A dot or a percent sign in a name is written %2E or %25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import unquote

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import prefix_address

__all__ = ["TableAddress", "joined", "namespace_address", "table_address", "table_or_ref"]

_EXAMPLE = "Write it like lakefs://my-repository/main/city.trips"


class TableAddress(NamedTuple):
    """A table, or a namespace, or all of a reference: `parts` are those of its name."""

    repository: str
    ref: str
    parts: tuple[str, ...] = ()

    @property
    def namespace(self) -> tuple[str, ...]:
        """The namespace of the table."""
        return self.parts[:-1]

    @property
    def name(self) -> str:
        """The name of the table in its namespace."""
        return self.parts[-1]


def namespace_address(text: str) -> TableAddress:
    """Returns the address of a reference, or of a namespace or a table in it; raises Usage."""
    uri = prefix_address(text)
    parts = tuple(unquote(part) for part in uri.key.split(".")) if uri.key else ()
    if not all(parts):
        raise Usage(f"{text!r} has an empty part in its name", hint=_EXAMPLE)
    return TableAddress(uri.repository, uri.ref, parts)


def table_address(text: str) -> TableAddress:
    """Returns the address of a table; raises Usage for anything else."""
    address = namespace_address(text)
    if not address.parts[1:]:
        raise Usage(f"{text!r} names no table of a namespace", hint=_EXAMPLE)
    return address


def table_or_ref(text: str) -> str | TableAddress:
    """Returns an address as `namespace_address` does, or the name of a ref."""
    return namespace_address(text) if "://" in text else text


def joined(parts: Sequence[str]) -> str:
    """Returns a name as it stands in an address."""
    return ".".join(part.replace("%", "%25").replace(".", "%2E") for part in parts)
