"""Reports on the storage of repositories, one at a time."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from anabranch.blocks.contract import BlockStore
from anabranch.errors import NotSupported
from anabranch.pipelines.admission import Admission
from anabranch.pipelines.storage.report import StorageReport
from anabranch.versioning.core import Core

if TYPE_CHECKING:
    from anabranch.pipelines.storage.measurement import Measurement

__all__ = ["Storage"]

_LIBRARIES = ("numpy", "pyarrow")
_WAIT_SECONDS = 20.0
_MAX_WAITING = 4


class Storage:
    """Measures the storage of repositories."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._admission = Admission(
            "reports on storage", running=1, waiting=_MAX_WAITING, seconds=_WAIT_SECONDS
        )
        self._measurement: Measurement | None = None

    def report(self, repository: str, *, branch: str = "", points: int) -> StorageReport:
        """Returns the report on a repository; `points` commits of a branch, by default the default
        branch, show its growth.

        Raises NotFound, Gone and Corrupt, NotSupported without the libraries, and Busy while other
        reports take too long.
        """
        stored = self._core.repositories.get(repository)
        if not all(map(importlib.util.find_spec, _LIBRARIES)):
            raise NotSupported(
                "this server cannot measure storage",
                kind="storage_report_unavailable",
                hint="It needs `pip install 'anabranch[gc]'`.",
            )
        with self._admission.enter():
            return self._open().measure(stored, branch or stored.default_branch, points)

    def _open(self) -> Measurement:
        if self._measurement is None:
            # the core runs without these libraries
            from anabranch.pipelines.storage.measurement import Measurement  # noqa: PLC0415

            self._measurement = Measurement(self._core, self._blocks)
        return self._measurement
