"""Types of DuckDB that a format cannot hold, and what holds their values without loss: text as
DuckDB shows it, or a decimal. A value for which there is no room in that fails the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.tables.sql_names import folded, identifier

__all__ = ["ARROW", "JSON", "PARQUET", "column_casts"]

_TEXT = "VARCHAR"

ARROW = {
    "hugeint": "DECIMAL(38, 0)",
    **dict.fromkeys(("uhugeint", "time with time zone", "bit", "bignum", "variant"), _TEXT),
}
"""Arrow has no integers of 128 bits, no times of day with a zone, and no bit strings."""

PARQUET = {**ARROW, "interval": _TEXT, "union": _TEXT}

JSON = {**ARROW, "union": _TEXT}
"""The JSON form of values is that of Arrow's."""


def column_casts(relation: Any, replaced: Mapping[str, str]) -> str:
    """Returns the select list of a relation with the types of columns replaced, also within lists,
    structures and maps. Repeated names get numbers.
    """
    names = _distinct(relation.columns)
    casts = []
    for number, (name, kind) in enumerate(zip(names, relation.types, strict=True), 1):
        target = _replace(kind, replaced)
        value = f"#{number}" if target is None else f"CAST(#{number} AS {target})"
        casts.append(f"{value} AS {identifier(name)}")
    return ", ".join(casts)


def _distinct(names: list[str]) -> list[str]:
    taken = set(map(folded, names))
    seen: set[str] = set()
    distinct = []
    for name in names:
        number, shown = 0, name
        while folded(shown) in seen or (number and folded(shown) in taken):
            number += 1
            shown = f"{name}_{number}"
        seen.add(folded(shown))
        distinct.append(shown)
    return distinct


def _replace(kind: Any, replaced: Mapping[str, str]) -> str | None:
    """Returns a type with its replacements, None for one without any."""
    if kind.id in replaced:
        return replaced[kind.id]
    if kind.id not in {"list", "array", "struct", "map"}:
        return None
    children = dict(kind.children)
    size = children.pop("size", "") if kind.id == "array" else ""
    parts = {name: _replace(child, replaced) for name, child in children.items()}
    if not any(parts.values()):
        return None
    texts = {name: part or str(children[name]) for name, part in parts.items()}
    if kind.id in {"list", "array"}:
        return f"{texts['child']}[{size}]"
    if kind.id == "map":
        return f"MAP({texts['key']}, {texts['value']})"
    return f"STRUCT({', '.join(f'{identifier(name)} {text}' for name, text in texts.items())})"
