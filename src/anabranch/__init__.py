"""Anabranch: Git for data lakes.

`anabranch.open(folder)` opens a lake in this process, `anabranch.connect(url)` one on a server, and
`anabranch serve` serves one over HTTP. The names in `__all__`, and what docs/python.md says about
them, are the public interface.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.lake.any_lake import AnyLake
    from anabranch.library import Lake
    from anabranch.library import open_lake as open  # noqa: A004  reads as anabranch.open
    from anabranch.remote.lake import RemoteLake, connect

    __version__: str

    def _have_the_interface(folder: Lake, server: RemoteLake) -> list[AnyLake]:
        """For mypy alone: both lakes have each method of the interface, with its types."""
        return [folder, server]


__all__ = [
    "AnyLake",
    "Lake",
    "RemoteLake",
    "__version__",
    "aio",
    "connect",
    "errors",
    "open",
]

_MODULES = {
    "AnyLake": ("anabranch.lake.any_lake", "AnyLake"),
    "Lake": ("anabranch.library", "Lake"),
    "RemoteLake": ("anabranch.remote.lake", "RemoteLake"),
    "connect": ("anabranch.remote.lake", "connect"),
    "open": ("anabranch.library", "open_lake"),
}


def __getattr__(name: str) -> Any:
    """Imports what is used when it is first used: the command line starts without it."""
    if name in _MODULES:
        # `from anabranch import library` would ask this function for the library first
        module, attribute = _MODULES[name]
        return getattr(import_module(module), attribute)
    if name in {"aio", "errors"}:
        return import_module(f"anabranch.{name}")
    if name == "__version__":
        # every command imports this package, few ask for its version, and this takes 50 ms
        return import_module("importlib.metadata").version("anabranch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, also those that are not imported yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
