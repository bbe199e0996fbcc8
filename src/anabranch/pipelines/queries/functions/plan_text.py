"""DuckDB's query plans: the nodes of a plan in JSON, and the parts of the expressions in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["enclosed_parts", "plan_nodes", "plan_parts"]

_QUOTES = frozenset("'\"")


def plan_nodes(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the nodes of a plan, each one before those below it."""
    for node in nodes:
        yield node
        yield from plan_nodes(node.get("children", []))


def plan_parts(text: str, separator: str) -> list[str]:
    """Returns the parts of a text between separators that are in no quotes and no parentheses."""
    depth, quote, start, found = 0, "", 0, []
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif depth == 0 and at >= start and text.startswith(separator, at):
            found.append(text[start:at])
            start = at + len(separator)
    return [*found, text[start:]]


def enclosed_parts(expression: str, operator: str) -> list[str]:
    """Returns the parts of `(part OPERATOR part)`, or the expression itself."""
    found = plan_parts(expression[1:-1], operator) if expression[:1] == "(" else []
    return found if len(found) > 1 else [expression]
