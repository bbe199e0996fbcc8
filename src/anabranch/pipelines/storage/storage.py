"""Reports on the storage of repositories, one at a time."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.converter import Converter
from anabranch.errors import NotSupported
from anabranch.files.work_folders import WorkFolder
from anabranch.model.references.branch import Branch
from anabranch.pipelines.admission import Admission
from anabranch.pipelines.storage.report import GarbageFound, StorageReport
from anabranch.pipelines.storage.unmerged import (
    Order,
    UnmergedBranches,
    UnmergedLimits,
    find_unmerged,
)
from anabranch.versioning.core import Core

if TYPE_CHECKING:
    from anabranch.pipelines.storage.measurement import Measurement

__all__ = ["Storage"]

_CONVERTER = Converter(GarbageFound)

_LIBRARIES = ("numpy", "pyarrow")
_LIMITS = UnmergedLimits()
_WAIT_SECONDS = 20.0
_MAX_WAITING = 4


class Storage:
    """Measures the storage of repositories. `clock` returns seconds since 1970."""

    def __init__(
        self, core: Core, blocks: BlockStore, clock: Callable[[], float] = time.time
    ) -> None:
        self._core = core
        self._blocks = blocks
        self._clock = clock
        self._admission = Admission(
            "reports on storage", running=1, waiting=_MAX_WAITING, seconds=_WAIT_SECONDS
        )
        self._searches = Admission(
            "searches for garbage", running=1, waiting=_MAX_WAITING, seconds=_WAIT_SECONDS
        )
        self._unmerged = Admission(
            "reports on branches", running=2, waiting=_MAX_WAITING, seconds=_WAIT_SECONDS
        )
        self._measurement: Measurement | None = None

    def report(self, repository: str, *, branch: str = "", points: int) -> StorageReport:
        """Returns the report on a repository; `points` commits of a branch, by default the default
        branch, show its growth.

        Raises NotFound, Gone and Corrupt, NotSupported without the libraries, and Busy while other
        reports take too long.
        """
        stored = self._core.repositories.get(repository)
        _require_libraries()
        with self._admission.enter():
            return self._open().measure(stored, branch or stored.default_branch, points)

    def find_garbage(self, repository: str) -> GarbageFound:
        """Finds what nothing references any more, as a run of garbage collection that removes
        nothing, and returns it; later reports show it. Reads the references of all repositories.

        Raises the errors of `Collector.mark`, NotSupported without the libraries, and Busy while
        another search takes too long.
        """
        self._core.repositories.get(repository)
        _require_libraries()
        # the core runs without these libraries
        from anabranch.pipelines.garbage.collector import Collector  # noqa: PLC0415

        with self._searches.enter(), WorkFolder("gc") as folder:
            collector = Collector(self._core, self._blocks, Path(folder), clock=self._clock)
            with collector.mark(repository) as run:
                return _CONVERTER.convert(msgspec.to_builtins(run.summary))

    def unmerged(
        self,
        repository: str,
        *,
        order: Order,
        amount: int,
        is_shown: Callable[[Branch], bool] = lambda _: True,
        limits: UnmergedLimits = _LIMITS,
    ) -> UnmergedBranches:
        """Returns the branches with commits that the default branch does not have: at most `amount`
        of those that are shown, the oldest or the largest first.

        Raises NotFound, Gone and Corrupt, and Busy while other reports take too long.
        """
        stored = self._core.repositories.get(repository)
        with self._unmerged.enter():
            return find_unmerged(
                *(self._core, stored),
                order=order,
                amount=amount,
                is_shown=is_shown,
                limits=limits,
            )

    def _open(self) -> Measurement:
        if self._measurement is None:
            # the core runs without these libraries
            from anabranch.pipelines.storage.measurement import Measurement  # noqa: PLC0415

            self._measurement = Measurement(self._core, self._blocks)
        return self._measurement


def _require_libraries() -> None:
    if not all(map(importlib.util.find_spec, _LIBRARIES)):
        raise NotSupported(
            "this server cannot measure storage",
            kind="storage_report_unavailable",
            hint="It needs `pip install 'anabranch[gc]'`.",
        )
