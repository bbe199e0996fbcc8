"""Lua's values as Python's, and back.

Lua's strings are bytes; text is pushed as UTF-8. A table is a list if it is marked as an array, as
the arrays of documents are, or if its keys are 1, 2, …; else a mapping. Whole numbers that a
document writes as fractions (`5.0`) are pushed as integers: lakeFS's Lua does not tell them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lupa.lua54 as lupa

__all__ = ["LuaValues"]

_MAX_DEPTH = 100
_EXACT = 1 << 53
_LUA_INTEGERS = range(-(1 << 63), 1 << 63)


class LuaValues:
    """Converts values of one runtime. `make_function` makes a function of Lua of one of Python."""

    def __init__(
        self,
        runtime: Any,
        array: Callable[[Any], Any],
        is_array: Callable[[Any], bool],
        make_function: Callable[[Callable[..., Any]], Any],
    ) -> None:
        self._runtime = runtime
        self._array = array
        self._is_array = is_array
        self._make_function = make_function

    def to_python(self, value: Any, depth: int = 0) -> Any:
        """Returns a value of Lua as Python's: bytes, numbers, lists, mappings with keys of text.
        Raises ValueError for functions and for tables that are nested too deep.
        """
        kind = lupa.lua_type(value)
        if kind is None:
            return value
        if kind != "table":
            raise ValueError(f"a {kind} is not supported here")
        if depth > _MAX_DEPTH:
            raise ValueError(f"a table is nested more than {_MAX_DEPTH} levels deep")
        items = list(value.items())
        is_list = self._is_array(value) or (
            items
            and sorted(key for key, _ in items if type(key) is int) == [*range(1, len(items) + 1)]
        )
        if is_list:
            found = dict(items)
            last = max((key for key in found if type(key) is int), default=0)
            if last > 2 * len(items) + 10:
                raise ValueError("an array has too many holes")
            return [self.to_python(found.get(at), depth + 1) for at in range(1, last + 1)]
        return {_key(key): self.to_python(item, depth + 1) for key, item in items}

    def to_lua(self, value: Any) -> Any:
        """Returns a value of Python as Lua's; a value of an unknown type as text."""
        if value is None or isinstance(value, bool | bytes):
            return value
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, list | tuple):
            return self._array(self._runtime.table(*map(self.to_lua, value)))
        if isinstance(value, Mapping):
            return self._runtime.table_from(
                {self.to_lua(key): self.to_lua(item) for key, item in value.items()}
            )
        if callable(value):
            return self._make_function(value)
        return str(value).encode("utf-8", "surrogateescape")


def _number(value: float) -> float:
    if isinstance(value, int):
        return value if value in _LUA_INTEGERS else float(value)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return key.decode("utf-8", "surrogateescape")
    if isinstance(key, int | float) and not isinstance(key, bool):
        return f"{key:g}" if isinstance(key, float) else str(key)
    raise ValueError("a key of a table must be text or a number")
