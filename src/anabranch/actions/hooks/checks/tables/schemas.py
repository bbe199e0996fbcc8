"""Differences of the schemas of two tables, in words."""

from __future__ import annotations

from typing import Any

__all__ = ["schema_differences"]


def schema_differences(expected: Any, found: Any) -> list[str]:
    """Returns in what the schema `found` differs from the one `expected`, both of pyarrow; empty if
    names, types, order and whether values may be null are the same.
    """
    differences = []
    for name in expected.names:
        if name not in found.names:
            differences.append(f"column {name} is missing")
            continue
        old, new = expected.field(name), found.field(name)
        if old.type != new.type:
            differences.append(f"column {name} is {new.type} instead of {old.type}")
        elif old.nullable != new.nullable:
            now = "may be null now" if new.nullable else "may not be null any more"
            differences.append(f"column {name} {now}")
    differences += [f"column {name} is new" for name in found.names if name not in expected.names]
    if not differences and expected.names != found.names:
        differences.append(f"its columns are in another order than {', '.join(expected.names)}")
    return differences
