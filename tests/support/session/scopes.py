"""Which tests run in one worker: those of a file, and of folders whose services take long to start;
and how long files took when that was recorded.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from support.session.tiers import SPARK

__all__ = ["recorded_seconds", "scope_of", "tests_are_apart"]

_DURATIONS = Path(__file__).parents[2] / "durations.json"
_UNKNOWN_SECONDS = 1.0
_TOGETHER = ("tests/web/", "tests/blocks/")
"""Folders whose tests share a browser, a server and programs, and the stores of three clouds."""
_APART = "tests/simulation/"
"""A folder whose tests share nothing and take minutes: each goes to the worker that is free."""


def scope_of(file: str) -> str:
    """Returns the name of the files that run in the worker where a file runs: all that need Spark,
    whose Java process takes half a minute to start and a gigabyte, or a folder, or the file itself.
    """
    if SPARK.search(file):
        return "spark"
    return next((folder for folder in _TOGETHER if file.startswith(folder)), file)


def tests_are_apart(file: str) -> bool:
    """Returns whether each test of a file goes to a worker by itself."""
    return file.startswith(_APART)


def recorded_seconds(file: str) -> float:
    """Returns the seconds that a file took when they were recorded."""
    return _durations().get(file, _UNKNOWN_SECONDS)


@cache
def _durations() -> dict[str, float]:
    durations: dict[str, float] = json.loads(_DURATIONS.read_text()) if _DURATIONS.exists() else {}
    return durations
