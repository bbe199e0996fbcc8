"""Names and texts in the SQL of DuckDB."""

from __future__ import annotations

__all__ = ["READ_PARQUET", "identifier", "literal"]

READ_PARQUET = "system.main.read_parquet"
"""DuckDB's own function, which queries hide by another one of its name."""


def identifier(name: str) -> str:
    """Returns a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Returns a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
