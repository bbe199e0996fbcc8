"""Which files each worker of a whole run collects.

To collect all of them takes each worker a tenth of its time. So each has a share: those that take
longest, which are few, are common to all workers, and whichever is free runs them. Each other file
is one worker's alone, which runs its own files first; so are those that run together and take a
worker most of the run, as those do that need Spark. A worker that replaces one that has ended
collects everything.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pytest

from support.session.scopes import recorded_seconds, scope_of, tests_are_apart
from support.session.tiers import holds_no_test

__all__ = ["Shares", "give_share", "is_common", "is_of_another_worker", "shares"]

_COMMON_TIME = 0.4
"""How much of the recorded time is common, so that workers end together, however fast each is."""
_LONG = 0.6
"""The part of a worker's time from which on files that run together are begun first."""
_OWN = ("tests/clients/", "tests/mcp/")
"""Folders whose libraries take a worker a second each to import."""
_NUMBERED = re.compile(r"gw(\d+)")
_COMMON, _GIVEN = "common_files", "given_files_and_folders"


class Shares(NamedTuple):
    """The files that all workers collect, and for each worker those that it alone collects."""

    common: list[str]
    own: list[list[str]]


def shares(files: Iterable[str], workers: int) -> Shares:
    """Divides files among workers. Files that run in one worker because they share a service stay
    together; own files are those of neighbouring folders, which share fixtures and imports.
    """
    scopes: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files):
        scopes[scope_of(file)].append(file)
    seconds = {scope: sum(map(recorded_seconds, held)) for scope, held in scopes.items()}
    whole = own_time = sum(seconds.values())
    long = [
        scope
        for scope in scopes
        if seconds[scope] > _LONG * whole / workers and not tests_are_apart(scope)
    ]
    common = []
    for scope in sorted(seconds, key=lambda scope: (-seconds[scope] / len(scopes[scope]), scope)):
        if tests_are_apart(scope) or (
            own_time > whole * (1 - _COMMON_TIME)
            and scope not in long
            and not scope.startswith(_OWN)
        ):
            common.append(scope)
            own_time -= seconds[scope]
    own: list[list[str]] = [[] for _ in range(workers)]
    times = [0.0] * workers
    for scope in sorted(long, key=lambda scope: -seconds[scope]):
        number = times.index(min(times))
        own[number] += scopes[scope]
        times[number] += seconds[scope]
    left, number = own_time, 0
    for scope in sorted(scopes.keys() - {*common, *long}):
        while number < workers - 1 and times[number] >= left / (workers - number):
            left -= times[number]
            number += 1
        own[number] += scopes[scope]
        times[number] += seconds[scope]
    return Shares(sorted(file for scope in common for file in scopes[scope]), own)


def give_share(node: Any) -> None:
    """Tells a worker that begins, if the run is of all files, which of them it collects."""
    config, workers = node.config, node.workerinput["workercount"]
    number = _NUMBERED.fullmatch(node.workerinput["workerid"])
    # to repeat what failed, pytest looks for that in all that a worker has
    whole = config.args_source == pytest.Config.ArgsSource.TESTPATHS and not config.getoption(
        "lf", False
    )
    if not whole or number is None or int(number[1]) >= workers:
        return
    root = config.rootpath
    files = [
        path.relative_to(root).as_posix()
        for folder in config.args
        for path in (root / folder).rglob("test_*.py")
        if not holds_no_test(path, config.option.markexpr)
    ]
    common, own = shares(files, workers)
    given = {*common, *own[int(number[1])]}
    given |= {folder.as_posix() for file in given for folder in PurePosixPath(file).parents}
    node.workerinput[_COMMON], node.workerinput[_GIVEN] = common, sorted(given)


def is_of_another_worker(path: Path, config: pytest.Config) -> bool:
    """Returns whether this worker leaves a file, or a folder with its `conftest.py`, to others."""
    given = _workerinput(config).get(_GIVEN)
    if given is None or not (path.is_dir() or path.match("test_*.py")):
        return False
    return path.relative_to(config.rootpath).as_posix() not in given


def is_common(file: str, config: pytest.Config) -> bool:
    """Returns whether other workers have a file, too."""
    return file in _workerinput(config).get(_COMMON, ())


def _workerinput(config: pytest.Config) -> dict[str, Any]:
    return getattr(config, "workerinput", {})
