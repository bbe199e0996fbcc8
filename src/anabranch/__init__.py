"""Anabranch: Git for data lakes.

`anabranch.open(folder)` opens a lake in this process; `anabranch serve` serves one over HTTP.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.library import Lake
    from anabranch.library import open_lake as open  # noqa: A004  reads as anabranch.open

__all__ = ["Lake", "open"]


def __getattr__(name: str) -> Any:
    """Imports the library when it is first used: the command line starts without it."""
    if name in {"open", "Lake"}:
        # `from anabranch import library` would ask this function for the library first
        library = import_module("anabranch.library")
        return library.open_lake if name == "open" else library.Lake
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
