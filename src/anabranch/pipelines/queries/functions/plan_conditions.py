"""Conditions on maps in the plan of a statement, which DuckDB does not push down into a scan.

The plan is the text of `EXPLAIN (FORMAT json)`. A filter directly above the only scan of a plan
holds for all rows that the plan uses of it; its conditions on `metadata['key']` are read, in the
form in which DuckDB shows them: `=`, `IN` and `OR` of some values, `LIKE` of a beginning, an end or
a part, and `IS NOT NULL`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from anabranch.pipelines.queries.functions.conditions import Condition
from anabranch.pipelines.queries.functions.plan_text import enclosed_parts, plan_nodes

__all__ = ["conditions_in_plan"]

_TEXT = "'((?:[^']|'')*)'"
_VALUE = rf"map_extract_value\((\w+), {_TEXT}\)"
_EQUAL = re.compile(rf"\({_VALUE} = {_TEXT}\)")
_PART = re.compile(rf"(prefix|suffix|contains)\({_VALUE}, {_TEXT}\)")
_EXISTS = re.compile(rf"\({_VALUE} IS NOT NULL\)")


def conditions_in_plan(plan: str) -> list[Condition]:
    """Returns conditions that all rows meet which a plan uses of the one relation that it scans;
    none for a plan with several scans, or for an unknown form.
    """
    nodes = list(plan_nodes(msgspec.json.decode(plan)))
    if sum(node.get("name") == "ARROW_SCAN" for node in nodes) != 1:
        return []
    for node in nodes:
        children = node.get("children", [])
        if node.get("name") == "FILTER" and children[0].get("name") == "ARROW_SCAN":
            expression = node.get("extra_info", {}).get("Expression", "")
            return list(_conditions(expression)) if isinstance(expression, str) else []
    return []


def _conditions(expression: str) -> Iterator[Condition]:
    for conjunct in enclosed_parts(expression, " AND "):
        if part := _PART.fullmatch(conjunct):
            yield Condition(part[2], part[1], (_unquote(part[4]),), _unquote(part[3]))
        elif value := _EXISTS.fullmatch(conjunct):
            yield Condition(value[1], "exists", (), _unquote(value[2]))
        else:
            yield from _one_of(list(map(_EQUAL.fullmatch, enclosed_parts(conjunct, " OR "))))


def _one_of(equal: list[re.Match[str] | None]) -> Iterator[Condition]:
    """Yields the condition of which these are the alternatives, if they are about one value."""
    found = [each for each in equal if each is not None]
    if len(found) == len(equal) and len({each.group(1, 2) for each in found}) == 1:
        column, key = found[0].group(1, 2)
        values = tuple(_unquote(each[3]) for each in found)
        yield Condition(column, "in", values, _unquote(key))


def _unquote(text: str) -> str:
    return text.replace("''", "'")
