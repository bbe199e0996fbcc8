"""Types of columns of Iceberg as SQL writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["type_text"]


def type_text(given: Any) -> str:
    """Returns a type as SQL writes it: `list<struct<id: long, name: string>>`."""
    if not isinstance(given, Mapping):
        return str(given)
    if given.get("type") == "struct":
        fields = (f"{each['name']}: {type_text(each['type'])}" for each in given["fields"])
        return f"struct<{', '.join(fields)}>"
    if given.get("type") == "list":
        return f"list<{type_text(given['element'])}>"
    if given.get("type") == "map":
        return f"map<{type_text(given['key'])}, {type_text(given['value'])}>"
    return str(given.get("type"))
