"""Which worker runs which tests: whole files, the longest first, and those together whose services
take long to start.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from support.session.tiers import SPARK

_DURATIONS = Path(__file__).parents[2] / "durations.json"
_UNKNOWN_SECONDS = 1.0
_TOGETHER = ("tests/web/", "tests/blocks/")
"""Folders whose tests share a browser, a server and programs, and the stores of three clouds."""
_APART = "tests/simulation/"
"""A folder whose tests share nothing and take minutes: each goes to the worker that is free."""


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Gives workers whole files, and those that need Spark to one worker: its Java process takes
    half a minute to start and a gigabyte. So it is with folders whose services each worker would
    start for a part of the files. The mark `xdist_group` would say so, but xdist 3.8 does
    not see it with pytest 9.2 (pytest-xdist issue 1386).
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(_APART) else _scope(nodeid)

    def schedule(self) -> None:
        # xdist would begin with the files that have the most tests, which are short ones
        self.config.option.loadscopereorder = False
        super().schedule()


def longest_first(items: list[pytest.Item]) -> None:
    """Sorts tests by the duration of their files, which keep their order within."""
    seconds: dict[str, float] = {}
    for file in {item.nodeid.partition("::")[0] for item in items}:
        scope = _scope(file)
        seconds[scope] = seconds.get(scope, 0) + _durations().get(file, _UNKNOWN_SECONDS)
    items.sort(key=lambda item: -seconds[_scope(item.nodeid)])


def _scope(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    if SPARK.search(file):
        return "spark"
    return next((folder for folder in _TOGETHER if file.startswith(folder)), file)


@cache
def _durations() -> dict[str, float]:
    """Returns the seconds that each file took when they were recorded."""
    durations: dict[str, float] = json.loads(_DURATIONS.read_text()) if _DURATIONS.exists() else {}
    return durations
