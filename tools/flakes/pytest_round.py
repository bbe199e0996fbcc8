"""A pytest plugin for one round: runs tests in random order and records what failed.

The order is that of digests of the seed and a test's id, so it is the same in every worker of
pytest-xdist, and a part of the tests keeps the order that it had among all of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares what the command of a round sets."""
    parser.addoption("--round-seed", required=True, metavar="N", help="selects the order of tests")
    parser.addoption("--round-failures", required=True, metavar="FILE", help="JSON lines")


def pytest_configure(config: pytest.Config) -> None:
    """Records failures where they are reported, which is not in the workers of pytest-xdist."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # would begin with the largest files
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(Path(config.getoption("--round-failures"))))


# First: pytest then groups tests by the parameters of fixtures that they share, as without a
# random order, so that no such fixture is set up for every test anew.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts files, and tests within each file, in random order."""
    seed = config.getoption("--round-seed")

    def rank(name: str) -> bytes:
        return hashlib.sha256(f"{seed} {name}".encode()).digest()

    items.sort(key=lambda item: (rank(item.nodeid.partition("::")[0]), rank(item.nodeid)))


class _Recorder:
    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._record(report.nodeid, report.when or "", report.longreprtext)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._record(report.nodeid, "collection", report.longreprtext)

    def _record(self, test: str, phase: str, text: str) -> None:
        reason = _reason(text.splitlines())
        with self._file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"test": test, "phase": phase, "reason": reason}) + "\n")


def _reason(lines: Sequence[str]) -> str:
    """Returns the first line of a traceback that says what is wrong."""
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    return next(iter(errors or lines[-1:]), "")
