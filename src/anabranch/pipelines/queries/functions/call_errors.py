"""Wrong calls of table functions, and objects that are named in other ways."""

from __future__ import annotations

import re

from anabranch.tables.sql_names import literal

__all__ = ["CallError", "explain_missing", "explain_permission"]

_MISSING = re.compile(r"Table with name (lakefs://.*?) does not exist!", re.DOTALL)
_REFUSED = re.compile(r'Cannot access file "(lakefs:/.*?)" - ', re.DOTALL)


class CallError(ValueError):
    """A wrong call of a table function; `hint` says how it is called."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def explain_missing(message: str) -> None:
    """Raises CallError if an error of DuckDB is about an address of an extension that it does not
    know.
    """
    matched = _MISSING.search(message)
    if matched is not None:
        raise CallError(
            f"{matched[1]} has no extension of a format that is read by its address alone",
            _hint(matched[1]),
        )


def _hint(address: str) -> str:
    if address.endswith("/"):
        table, files = literal(address.rstrip("/")), literal(f"{address}**")
        return (
            f"Write FROM delta_table({table}) or iceberg_table({table}) for a table in this "
            f"folder, FROM read_table({files}) for all of its files."
        )
    return (
        f"Write FROM read_table({literal(address)}), or give the format as well: format := 'csv'."
    )


def explain_permission(message: str) -> None:
    """Raises CallError if an error of DuckDB is about a function of its own that reads objects."""
    matched = _REFUSED.search(message)
    if matched is not None:
        raise CallError(
            f"{matched[1]} cannot be read by this function or statement, which may show other "
            "values than those of the file",
            f"Write FROM read_table({literal(matched[1])}).",
        )
