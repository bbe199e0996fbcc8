"""Conditions of a filter that a source can check by itself, read from an Arrow expression.

An expression is read in its serialized form: a batch with one row, whose columns are the literals,
and whose schema's metadata are the nodes in order, as pairs of kind and name. The names of columns
and functions are ours and Arrow's, so no text of a user is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

__all__ = ["Condition", "conditions_in"]

_PAIR = re.compile(r"(\w+): '([^']*)'")
_OPERATORS = {
    "equal": "=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_AND = frozenset({"and", "and_kleene"})


class Condition(NamedTuple):
    """A comparison of a column with a value, which is an integer or a text; times are in
    microseconds since 1970. Or one of the value that a map has for a `key`: it is one of several
    (`in`), begins, ends with or contains one (`prefix`, `suffix`, `contains`), or `exists`.
    """

    column: str
    operator: str
    value: int | str | tuple[str, ...]
    key: str = ""


class _Field(NamedTuple):
    name: str


class _Literal(NamedTuple):
    value: Any


class _Call(NamedTuple):
    function: str
    arguments: list[Any]


def conditions_in(expression: Any) -> list[Condition]:
    """Returns conditions that all rows meet for which an expression is true; those that are no
    comparison of a column with a constant are left out.
    """
    return list(_conditions(_parse(expression)))


def _conditions(node: Any) -> Iterator[Condition]:
    if not isinstance(node, _Call):
        return
    if node.function in _AND:
        for argument in node.arguments:
            yield from _conditions(argument)
        return
    operator = _OPERATORS.get(node.function)
    if operator is None:
        return
    left, right = node.arguments
    if isinstance(left, _Literal):
        left, right, operator = right, left, _FLIPPED[operator]
    if isinstance(left, _Field) and isinstance(right, _Literal):
        value = _comparable(right.value)
        if value is not None:
            yield Condition(left.name, operator, value)


def _comparable(scalar: Any) -> int | str | None:
    if pa.types.is_timestamp(scalar.type):
        if scalar.type.unit != "us":
            return None
        value: int | None = scalar.value
        return value
    value = scalar.as_py()
    is_plain = isinstance(value, int | str) and not isinstance(value, bool | datetime)
    return value if is_plain else None


def _parse(expression: Any) -> Any:
    (buffer,) = expression.__reduce__()[1]
    table = pa.ipc.open_file(buffer).read_all()
    text = table.schema.to_string(
        truncate_metadata=False, show_field_metadata=False, show_schema_metadata=True
    )
    nodes = text.partition("-- schema metadata --\n")[2]
    return _node(_PAIR.findall(nodes), table)[0]


def _node(pairs: list[tuple[str, str]], table: pa.Table, start: int = 0) -> tuple[Any, int]:
    """Returns the node that begins at a pair, and the position after it."""
    kind, name = pairs[start]
    if kind == "field_ref":
        return _Field(name), start + 1
    if kind == "literal":
        return _Literal(table.column(int(name))[0]), start + 1
    if kind == "nested_field_ref":
        return None, start + 1 + int(name)
    if kind != "call":
        return None, start + 1
    position, arguments = start + 1, []
    while pairs[position][0] != "end":
        argument, position = _node(pairs, table, position)
        arguments.append(argument)
    return _Call(name, arguments), position + 1
