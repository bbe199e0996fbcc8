"""Addresses of the tables of a repository's commits in its storage namespace.

Ranges and metaranges are in one folder, named by their ids, as in lakeFS 1.84.
"""

from __future__ import annotations

import re

from anabranch.errors import Invalid

__all__ = ["TABLES", "is_table_address", "table_address", "tables_address"]

TABLES = "_lakefs"
"""Folder of tables in a storage namespace."""

_TABLE_ID = re.compile(r"[0-9a-f]{64}")
_IN_TABLES = f"/{TABLES}/"


def tables_address(storage_namespace: str) -> str:
    """Returns the address of the folder of tables."""
    return f"{storage_namespace.rstrip('/')}/{TABLES}"


def table_address(storage_namespace: str, table_id: str) -> str:
    """Returns the address of a table. Raises Invalid for a malformed id."""
    if not _TABLE_ID.fullmatch(table_id):
        raise Invalid(f"{table_id!r}: not the id of a table", kind="invalid_table_id")
    return f"{storage_namespace.rstrip('/')}/{TABLES}/{table_id}"


def is_table_address(address: str) -> bool:
    """Returns whether an address is below a folder of tables, in any case of letters: some file
    systems do not distinguish them.
    """
    return _IN_TABLES in address.lower()
