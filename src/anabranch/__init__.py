"""Anabranch: Git for data lakes.

`anabranch.open(folder)` opens a lake in this process; `anabranch serve` serves one over HTTP. The
names in `__all__`, and what docs/python.md says about them, are the public interface.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.library import Lake
    from anabranch.library import open_lake as open  # noqa: A004  reads as anabranch.open

    __version__: str

__all__ = ["Lake", "__version__", "errors", "open"]


def __getattr__(name: str) -> Any:
    """Imports the library when it is first used: the command line starts without it."""
    if name in {"open", "Lake"}:
        # `from anabranch import library` would ask this function for the library first
        library = import_module("anabranch.library")
        return library.open_lake if name == "open" else library.Lake
    if name == "errors":
        return import_module("anabranch.errors")
    if name == "__version__":
        # every command imports this package, few ask for its version, and this takes 50 ms
        return import_module("importlib.metadata").version("anabranch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Returns the public names, also those that are not imported yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
