"""Conditions on maps in the plan of a statement, which DuckDB does not push down into a scan.

The plan is the text of `EXPLAIN (FORMAT json)`. A filter directly above the only scan of a plan
holds for all rows that the plan uses of it; its conditions of the form `metadata['key'] = 'value'`
are read, in the form in which DuckDB shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from anabranch.pipelines.queries.functions.conditions import Condition

__all__ = ["conditions_in_plan"]

_EQUAL = re.compile(r"\(map_extract_value\((\w+), '((?:[^']|'')*)'\) = '((?:[^']|'')*)'\)")
_AND = " AND "
_QUOTES = frozenset("'\"")


def conditions_in_plan(plan: str) -> list[Condition]:
    """Returns conditions that all rows meet which a plan uses of the one relation that it scans;
    none for a plan with several scans, or for an unknown form.
    """
    nodes = list(_nodes(msgspec.json.decode(plan)))
    if sum(node.get("name") == "ARROW_SCAN" for node in nodes) != 1:
        return []
    for node in nodes:
        children = node.get("children", [])
        if node.get("name") == "FILTER" and children[0].get("name") == "ARROW_SCAN":
            expression = node.get("extra_info", {}).get("Expression", "")
            return list(_conditions(expression)) if isinstance(expression, str) else []
    return []


def _nodes(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        yield node
        yield from _nodes(node.get("children", []))


def _conditions(expression: str) -> Iterator[Condition]:
    for part in _conjuncts(expression):
        equal = _EQUAL.fullmatch(part)
        if equal is not None:
            column, key, value = equal[1], *(text.replace("''", "'") for text in equal.group(2, 3))
            yield Condition(column, "=", value, key)


def _conjuncts(expression: str) -> Iterator[str]:
    """Yields the parts of `(part AND part)`, or the expression itself."""
    depth, quote, start, ends = 0, "", 1, []
    for at, char in enumerate(expression):
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif depth == 1 and expression.startswith(_AND, at):
            ends.append(at)
    if not ends:
        yield expression
        return
    for end in [*ends, len(expression) - 1]:
        yield expression[start:end]
        start = end + len(_AND)
