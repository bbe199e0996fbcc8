"""Where the tables of a repository's commits lie in its storage namespace.

Ranges and metaranges lie side by side, each under its id (as lakeFS 1.84 has them).
"""

from __future__ import annotations

import re

from anabranch.errors import Invalid

__all__ = ["TABLES", "table_address", "tables_address"]

TABLES = "_lakefs"
"""The folder of tables, in a storage namespace."""

_TABLE_ID = re.compile(r"[0-9a-f]{64}")


def tables_address(storage_namespace: str) -> str:
    """Returns the address of the folder of tables."""
    return f"{storage_namespace.rstrip('/')}/{TABLES}"


def table_address(storage_namespace: str, table_id: str) -> str:
    """Returns the address of a table. Raises Invalid for what is no id."""
    if not _TABLE_ID.fullmatch(table_id):
        raise Invalid(f"{table_id!r}: not the id of a table", kind="invalid_table_id")
    return f"{storage_namespace.rstrip('/')}/{TABLES}/{table_id}"
