"""Names and texts in the SQL of DuckDB."""

from __future__ import annotations

import string

__all__ = ["READ_PARQUET", "folded", "identifier", "literal"]

READ_PARQUET = "system.main.read_parquet"
"""DuckDB's own function, which queries hide by another one of its name."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def identifier(name: str) -> str:
    """Returns a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Returns a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def folded(name: str) -> str:
    """Returns what equal names of columns have in common: for DuckDB, the letters A to Z have no
    case, and all others do, such as `É` and `é`.
    """
    return name.translate(_LOWER)
