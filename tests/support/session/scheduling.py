"""Which worker runs which tests: whole files, the longest first, and those together whose services
take long to start.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest
from xdist.report import report_collection_diff  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from support.session.scopes import recorded_seconds, scope_of, tests_are_apart
from support.session.shares import is_common


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Gives workers whole files, and those that need one service to one worker (`scope_of`). The
    mark `xdist_group` would say so, but xdist 3.8 does not see it with pytest 9.2 (pytest-xdist
    issue 1386). Where workers have collected different files (`shares.py`), each gets only what it
    has, in the order in which it has it.
    """

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        self.collection: list[str] | None = None
        self._places: dict[Any, dict[str, int]] = {}
        self._scopes: dict[Any, list[str]] = {}

    def add_node_collection(self, node: Any, collection: list[str]) -> None:
        """Notes what a worker has collected; one that replaces another begins later."""
        self.registered_collections[node] = collection = list(collection)
        self._places[node] = {test: place for place, test in enumerate(collection)}
        self._scopes[node] = list(dict.fromkeys(map(self._split_scope, collection)))

    def schedule(self) -> None:
        """Begins when all workers have collected; later gives work to one that replaces another."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            tests = list(dict.fromkeys(chain.from_iterable(self._places.values())))
            for test in tests:
                self.workqueue.setdefault(self._split_scope(test), {})[test] = False
            self._count_tests(len(tests))
            self.collection = tests
        for node in self.nodes:
            self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if tests_are_apart(file) else scope_of(file)

    def _reschedule(self, node: Any) -> None:
        """Gives a worker files until three tests wait: it begins one when it knows the next. If
        there are none for it, it ends.
        """
        if node.shutting_down or node not in self._scopes:
            return
        while self._pending_of(self.assigned_work[node]) <= 2:
            scope = next((scope for scope in self._scopes[node] if scope in self.workqueue), None)
            if scope is None:
                node.shutdown()
                return
            self._assign(node, scope)

    def _assign(self, node: Any, scope: str) -> None:
        waiting = self.assigned_work[node]
        for done in [each for each, tests in waiting.items() if all(tests.values())]:
            del waiting[done]  # else xdist would count them after each test
        tests = waiting[scope] = self.workqueue.pop(scope)
        left = [self._places[node][test] for test, is_done in tests.items() if not is_done]
        node.send_runtest_some(sorted(left))

    def _check_nodes_have_same_collection(self) -> bool:
        """Returns whether all workers that have collected a file found the same tests in it."""
        first: dict[str, tuple[Any, list[str]]] = {}
        same = True
        for node, collection in self.registered_collections.items():
            for file, tests in _by_file(collection).items():
                other, expected = first.setdefault(file, (node, tests))
                ids = (other.gateway.id, node.gateway.id)
                if difference := report_collection_diff(expected, tests, *ids):
                    same = False
                    report = pytest.CollectReport(node.gateway.id, "failed", difference, [])
                    self.config.hook.pytest_collectreport(report=report)
        return same

    def _count_tests(self, number: int) -> None:
        """Tells pytest how many tests there are: xdist takes the number of one of the workers."""
        xdist = self.config.pluginmanager.get_plugin("dsession")
        xdist._session.testscollected = number
        if any(len(each) < number for each in self._places.values()):
            xdist.report_line(f"{number} items in all: workers have different ones")


def _by_file(tests: Iterable[str]) -> dict[str, list[str]]:
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests):  # pytest's order depends on the other files
        files[test.partition("::")[0]].append(test)
    return files


def sort_for_workers(items: list[pytest.Item], config: pytest.Config) -> None:
    """Sorts tests: first those that no other worker has, then by the duration of their files, which
    keep their order within.
    """
    file_of = {item.nodeid: item.nodeid.partition("::")[0] for item in items}
    files = set(file_of.values())
    seconds: dict[str, float] = defaultdict(float)
    for file in files:
        seconds[scope_of(file)] += recorded_seconds(file)
    rank = {file: (is_common(file, config), -seconds[scope_of(file)]) for file in files}
    items.sort(key=lambda item: rank[file_of[item.nodeid]])
