"""Stores that kill worker processes with SIGKILL, as the kernel does when memory is exhausted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from anabranch.blocks.contract import BlockStore

__all__ = ["ExecutorKillingStore", "WorkerKillingStore"]


class WorkerKillingStore(NamedTuple):
    """Opens a store with `opener`, but kills one process that opens it: the one after the first
    `after` processes other than `driver`. Files in `folder` count the processes.
    """

    opener: Callable[[], BlockStore]
    folder: Path
    after: int
    driver: int

    def __call__(self) -> BlockStore:
        """Returns the opened store, or kills this process."""
        if os.getpid() != self.driver:
            for number in range(self.after + 1):
                try:
                    (self.folder / str(number)).touch(exist_ok=False)
                except FileExistsError:
                    continue
                if number == self.after:
                    os.kill(os.getpid(), signal.SIGKILL)
                break
        return self.opener()


class ExecutorKillingStore(NamedTuple):
    """Opens a store with `opener`, but kills one executor in the middle of its work: the Java
    process of the worker whose call to the store is number `after`. Files in `folder` count the
    calls of all workers other than `driver`.
    """

    opener: Callable[[], BlockStore]
    folder: Path
    after: int
    driver: int

    def __call__(self) -> BlockStore:
        """Returns the store."""
        blocks = self.opener()
        if os.getpid() == self.driver:
            return blocks
        return cast("BlockStore", _CountingStore(blocks, self))

    def note_call(self) -> None:
        """Counts a call, and kills the executor if it is the one."""
        number = 0
        while True:
            try:
                (self.folder / str(number)).touch(exist_ok=False)
            except FileExistsError:
                number += 1
                continue
            break
        if number == self.after:
            daemon = _parent(os.getpid())
            os.kill(_parent(daemon), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


class _CountingStore:
    def __init__(self, blocks: BlockStore, store: ExecutorKillingStore) -> None:
        self._blocks = blocks
        self._store = store

    def __getattr__(self, name: str) -> Any:
        self._store.note_call()
        return getattr(self._blocks, name)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
