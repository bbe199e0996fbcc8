"""A Lua runtime for scripts that are not trusted: no files, no processes, no bytecode, no Python.

Lua's memory is limited by its allocator. An instruction counter asks now and then whether the time
is up; what a script does in a single call of C (a pattern that backtracks, a long sort) only the
end of the process stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, NoReturn

import lupa.lua54 as lupa

from anabranch.actions.hooks.lua.arguments import adapt
from anabranch.actions.hooks.lua.values import LuaValues
from anabranch.errors import HookFailed

__all__ = ["OpenLibrary", "Sandbox"]

_MEMORY_BYTES = 256 << 20
_INTERVAL_INSTRUCTIONS = 100_000

OpenLibrary = Callable[[str], "Mapping[str, Any] | bytes | None"]
"""Returns a library by name: its functions and other values, or the text of a Lua module; None if
there is none.
"""


class Sandbox:
    """Runs scripts. `write` is for what they print; `expired` returns the reason if they must end,
    else None.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        open_library: OpenLibrary,
        expired: Callable[[], str | None],
    ) -> None:
        self._lua = lupa.LuaRuntime(
            encoding=None,
            register_eval=False,
            register_builtins=False,
            unpack_returned_tuples=True,
            attribute_filter=_no_attributes,
            max_memory=_MEMORY_BYTES,
        )
        self._open_library = open_library

        def ended() -> bytes | None:
            reason = expired()
            return None if reason is None else reason.encode()

        code = files(__package__).joinpath("sandbox.lua").read_bytes()
        self._run, self._bind, array, is_array, self._define, self._include = self._lua.execute(
            code,
            lambda text: write(text.decode("utf-8", "replace")),
            self._open,
            ended,
            _INTERVAL_INSTRUCTIONS,
            name=b"=sandbox",
        )
        bit32 = files(__package__).joinpath("bit32.lua").read_bytes()
        self._define(b"bit32", self._include(bit32, b"=bit32"))
        self._values = LuaValues(self._lua, array, is_array, self._function)

    def define(self, name: str, value: object) -> None:
        """Defines a global variable: text, numbers, lists, mappings."""
        self._define(name.encode(), self._values.to_lua(value))

    def run(self, code: bytes, name: str) -> None:
        """Runs a script; `name` is what messages call it. Raises HookFailed with the reason if it
        ends with an error.
        """
        try:
            ok, reason = self._run(code, b"=" + name.encode())
        except lupa.LuaMemoryError:
            ok, reason = False, b"not enough memory"
        except lupa.LuaError as error:  # in the handling of an error
            ok, reason = False, str(error).encode()
        if not ok:
            raise HookFailed(_text(reason))

    def _open(self, name: bytes) -> tuple[Any, ...]:
        """Returns whether a library was found, and its table or the reason."""
        text = name.decode("utf-8", "replace")
        try:
            library = self._open_library(text)
            if library is None:
                return False, f"module '{text}' not found".encode()
            if isinstance(library, bytes):
                return True, self._include(library, b"=" + name)
            return True, self._values.to_lua(library)
        except Exception as error:  # noqa: BLE001  a script must not get hold of an exception
            return False, str(error).encode()

    def _function(self, function: Callable[..., Any]) -> Any:
        """Returns a Lua function that calls one of Python's."""
        adaptation = adapt(function)

        def called(*arguments: Any) -> tuple[Any, ...]:
            try:
                results = adaptation([self._values.to_python(each) for each in arguments])
                many = results if isinstance(results, tuple) else (results,)
                return True, *map(self._values.to_lua, many)
            except MemoryError:
                return False, b"not enough memory"
            except Exception as error:  # noqa: BLE001  whatever it is, it is the script's error
                return False, (str(error) or type(error).__name__).encode("utf-8", "replace")

        return self._bind(called)


def _no_attributes(*_: object) -> NoReturn:
    raise AttributeError("not accessible")


def _text(reason: object) -> str:
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
