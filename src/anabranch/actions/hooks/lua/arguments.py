"""Arguments of functions that Lua calls, converted to the types of their parameters.

Text and bytes are Lua's strings, or numbers, as Lua itself converts them; whole numbers are numbers
without a fraction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

__all__ = ["adapt", "plain"]

_NAMES = {str: "string", bytes: "string", int: "number", float: "number", bool: "boolean"}


def adapt(function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """Returns a function of a list of arguments. Raises ValueError for wrong ones, as Lua words it.

    A parameter of another type than text, bytes, numbers and truth values gets what is given, with
    text in place of bytes.
    """
    parameters = list(inspect.signature(function).parameters.values())
    hints = get_type_hints(function)
    name = function.__name__.strip("_")

    def call(arguments: Sequence[Any]) -> Any:
        converted = []
        for at, parameter in enumerate(parameters):
            kind = hints.get(parameter.name, Any)
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = enumerate(arguments[at:], at)
                converted += [_convert(each, kind, number, name) for number, each in rest]
            elif at < len(arguments) and arguments[at] is not None:
                converted.append(_convert(arguments[at], kind, at, name))
            elif parameter.default is not parameter.empty:
                converted.append(parameter.default)
            elif kind is Any:
                converted.append(None)
            else:
                raise ValueError(_wrong(at, name, kind, "no value"))
        return function(*converted)

    return call


def plain(value: Any) -> Any:
    """Returns a value with text in place of bytes, also in lists and mappings."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def _convert(value: Any, kind: Any, at: int, name: str) -> Any:
    if kind is bool:
        return value is not None and value is not False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in (int, float):
        if isinstance(value, bytes):
            try:
                value, is_number = float(value), True
            except ValueError:
                is_number = False
        if is_number and (kind is float or value == int(value)):
            return kind(value)
        raise ValueError(_wrong(at, name, kind, _lua_type(value)))
    if kind in (str, bytes):
        if is_number:
            value = str(value).encode()
        if isinstance(value, bytes):
            return value if kind is bytes else plain(value)
        raise ValueError(_wrong(at, name, kind, _lua_type(value)))
    return plain(value)


def _wrong(at: int, name: str, kind: Any, found: str) -> str:
    return f"bad argument #{at + 1} to '{name}' ({_NAMES.get(kind, 'table')} expected, got {found})"


def _lua_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if value is None:
        return "nil"
    return "string" if isinstance(value, bytes) else "table"
