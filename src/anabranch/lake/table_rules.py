"""Rules by which a merge unites what both sides have written to one table of Delta Lake.

Tables of the Iceberg catalog need none: they are merged by Iceberg's rules wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.errors import Invalid
from anabranch.model.commits.conflict import Resolution

__all__ = ["table_rules"]

_WILDCARDS = "*?"


def table_rules(tables: Iterable[str]) -> list[Resolution]:
    """Returns the rules for tables, given as the paths of their folders. Raises Invalid for a path
    that is none, or that would name other tables, too.
    """
    if isinstance(tables, str):
        raise Invalid("tables is a list of paths, not one path", kind="invalid_table_path")
    rules: list[Resolution] = []
    for table in tables:
        path = table.strip("/")
        if not path or "://" in path or any(letter in path for letter in _WILDCARDS):
            raise Invalid(
                f"{table!r} is no path of a table",
                kind="invalid_table_path",
                hint="Name the table's folder on its branch, such as trips.",
            )
        rules.append({"path": f"{path}/_delta_log/**", "strategy": "delta"})
    return rules
