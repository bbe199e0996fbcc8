"""A lake whose garbage is collected step by step while requests refer to it, and the model that
tells what must stay readable.

Collectors and requests are processes in slots. Each has a clock of its own, and any of them may be
resumed, suspended for hours or killed between any two steps that it asks of the stores.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

from anabranch.errors import AnabranchError, CommitExpired
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.reports.summary import Summary
from anabranch.testing.lake import Clock
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS
from support.garbage import DAY, memory_lake
from support.sweep_machine.lake_process import LakeProcess, WaitlessTime
from support.sweep_machine.readable_model import ReadableModel

__all__ = ["REPOSITORIES", "SweepWorld"]

REPOSITORIES = ("sea", "land")

_FENCE_KINDS = {"being_removed", "commit_expired", "sweep_under_way"}
_ENDS = {"sweep_expired", "kept_out", "injected"}
"""The kinds of errors that a collector may end with."""

_COLLECTOR_SECONDS = 1000 * DAY

Act = Callable[[Lake], object]


class SweepWorld:
    """Two repositories with garbage, whose rules keep expired commits for `default_days`."""

    def __init__(self, default_days: int) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self._patches = [
            mock.patch(f"anabranch.{module}.time", WaitlessTime(self.clock))
            for module in ("pipelines.garbage.fence", "versioning.garbage.sweeps")
        ]
        for patch in self._patches:
            patch.start()
        self.lake = memory_lake(self._folder, self.clock)
        for name in REPOSITORIES:
            self.lake.repositories.create(name, f"mem://{name}")
            self.lake.garbage_rules.set(name, RetentionRules(default_days, {"x": 1}))
        self.model = ReadableModel(self.lake, REPOSITORIES, self.clock)
        self.collectors: dict[int, LakeProcess] = {}
        self.requests: dict[int, LakeProcess] = {}
        self._fenced_until = 0.0
        self._swept_during: set[int] = set()
        self._uploads = 0
        for repository in REPOSITORIES:
            for branch in ("dev", "x"):
                self.lake.branches.create(repository, branch, "main", hidden=branch == "x")
            for branch, path in zip(("main", "dev", "main", "dev", "main"), "ababa", strict=True):
                self._commit_objects(repository, branch, path)
            for branch, path in (("main", "a"), ("dev", "b")):
                self.lake.objects.delete(repository, branch, path)
                self._commit(repository, branch)
        self.wait(2 * DAY)

    def close(self) -> None:
        """Kills all processes, reads everything again and removes the files."""
        try:
            for process in (*self.collectors.values(), *self.requests.values()):
                process.kill()
            self.model.settle()
            self.model.refresh()
            self.read_everything()
        finally:
            for patch in self._patches:
                patch.stop()
            self.lake.close()
            shutil.rmtree(self._folder)

    def wait(self, seconds: float) -> None:
        """Moves the clock on, while all processes are suspended."""
        self.clock.advance(seconds)
        self.model.refresh()

    def put(self, lake: Lake, repository: str, branch: str, path: str) -> None:
        """Uploads an object that is like no other."""
        self._uploads += 1
        body = b"%d" % self._uploads
        stat = lake.objects.upload(repository, branch, path, [body])
        self.model.bytes[stat.physical_address] = body

    def read_everything(self) -> None:
        """Reads all that the model can read."""
        for repository, reference, path, body in self.model.readable():
            found = self.lake.objects.open(repository, reference, path).read_bytes()
            assert found == body, f"{path} of {repository} at {reference}"

    def check(self, repository: str) -> None:
        """Checks that a run finds those objects missing, and only those, that were removed before
        something referred to them.
        """
        lake = self.lake
        collector = Collector(lake.core, lake.blocks, self._folder / "check", clock=self.clock)
        with collector.mark(repository, check_only=True) as run:
            missing = _missing(run.summary)
        lost = {name for name in self.model.lost if name.startswith(f"mem://{repository}/")}
        assert missing <= lost
        assert lost & self.model.living.keys() <= missing

    # --- collectors -------------------------------------------------------------------------

    def advance_collector(
        self, slot: int, until: str, count: int, repository: str, ahead: float, window: float
    ) -> None:
        """Resumes the collector in a slot, for `count` steps or, if named, until ahead of an
        operation. In a slot without a collector a run begins, over a repository, with a clock that
        is so many seconds ahead and a restore window of so many seconds.
        """
        if slot not in self.collectors:
            self._start_collector(slot, repository, ahead, window)
        process = self.collectors[slot]
        while not process.ended:
            done = process.operation
            process.resume()
            if done == "delete":
                self.model.settle()
            count -= not until
            if process.operation == until or (not until and not count):
                break
        self.end_collector(slot)

    def end_collector(self, slot: int) -> None:
        """Takes a collector out of its slot if it has ended."""
        process = self.collectors[slot]
        if not process.ended:
            return
        del self.collectors[slot]
        self._swept_during.update(self.requests)
        if isinstance(process.result, Summary):
            assert _missing(process.result) <= self.model.lost
        else:
            if not process.killed:
                _expect(process.error, _ENDS)
            # its sweep may have left tombstones, for as long as clocks say
            until = self.clock.now + LEASE_SECONDS + 2 * CLOCK_SKEW_SECONDS + 1
            self._fenced_until = max(self._fenced_until, until)
        self.model.refresh()

    def _start_collector(self, slot: int, repository: str, ahead: float, window: float) -> None:
        if not self.model.unneeded:
            for _ in range(3):
                self._commit_objects(repository, "main", "c/e")
            self.wait(3 * DAY)
        self.clock.advance(1)  # ids of runs within a second are not ordered

        def collect(process: LakeProcess) -> Summary:
            with process.collector.mark(repository, window_seconds=window) as run:
                return run.sweep()

        self.collectors[slot] = LakeProcess(
            *(self.lake, self._folder / f"collector-{slot}", self.clock, collect),
            ahead=ahead,
            lives=_COLLECTOR_SECONDS,
        )
        self.collectors[slot].resume()

    def _commit_objects(self, repository: str, branch: str, path: str) -> None:
        """Commits an object over one that is garbage from then on."""
        for _ in range(2):
            self.put(self.lake, repository, branch, path)
        self._commit(repository, branch)

    def _commit(self, repository: str, branch: str) -> None:
        self.lake.commits.commit(repository, branch, message="m", committer="me")
        self.model.refresh()

    # --- requests ---------------------------------------------------------------------------

    def begin_request(self, slot: int, act: Act, *, ahead: float, lives: float) -> None:
        """Begins a request that is carried out step by step, in a slot that is free."""
        if slot in self.requests:
            return
        folder = self._folder / f"request-{slot}"
        self._swept_during.discard(slot)
        self.requests[slot] = LakeProcess(
            *(self.lake, folder, self.clock, lambda process: act(process.lake)),
            ahead=ahead,
            lives=lives,
        )
        self.advance_request(slot, 1)

    def advance_request(self, slot: int, count: int) -> None:
        """Resumes the request in a slot for so many steps; for none, it is killed."""
        process = self.requests.get(slot)
        if process is None:
            return
        if not count:
            process.kill()
        while not process.ended and count:
            done = process.operation
            process.resume()
            count -= 1
            if done in ("apply", "put", "delete"):
                self.model.settle()
                self.model.refresh()
        if process.ended:
            del self.requests[slot]
            self.model.settle()
            self.model.refresh()
            if process.error is not None:
                self._accept(process.error, swept=slot in self._swept_during)

    def carry_out(self, act: Act, changes: set[tuple[str, str]]) -> None:
        """Carries a request out at once. Other references than those that it `changes`, by
        repository and name, must stay as they are; all, if it is refused.
        """
        self.model.settle()
        self.model.refresh()  # a build has threads of its own, which no step stops
        before, images, refused = self.model.views, self.model.images, None
        try:
            act(self.lake)
        except AnabranchError as error:
            refused = error
        self.model.refresh()
        self.model.settle()
        if refused is not None:
            assert (self.model.views, self.model.images) == (before, images), refused
            self._accept(refused)
        for repository, view in self.model.views.items():
            earlier = before[repository]
            for old, new in (
                (earlier.shown, view.shown),
                (earlier.heads, view.heads),
                (earlier.tags, view.tags),
            ):
                for name in {*old, *new}:
                    assert (repository, name) in changes or old.get(name) == new.get(name)

    def pick(self, names: Sequence[str], number: int, rather: Sequence[str]) -> str:
        """Returns the name of a number, mostly one of those that are `rather` to be taken."""
        chosen = rather if number % 4 and rather else names
        return chosen[number // 4 % len(chosen)]

    def _accept(self, error: BaseException, *, swept: bool = False) -> None:
        """Raises AssertionError for an error that no request may end with. `swept` says that a
        sweep has ended while the request was carried out.
        """
        assert isinstance(error, AnabranchError), repr(error)
        assert error.kind not in {"metadata_missing", "internal"}, error
        if error.kind in _FENCE_KINDS:
            assert error.hint, error
            if isinstance(error, CommitExpired) and error.removed:
                return  # for good: tests/pipelines/garbage/fence/test_swept_commits.py
            assert swept or self.collectors or self.clock.now < self._fenced_until, error


def _missing(summary: Summary) -> set[str]:
    """Returns the full addresses that a run reports missing."""
    stem = f"{summary.storage_namespace}/"
    return {stem + reference.address for reference in summary.missing.shown}


def _expect(error: BaseException | None, kinds: set[str]) -> None:
    assert isinstance(error, AnabranchError), repr(error)
    assert error.kind in kinds, error
