"""A store that kills worker processes with SIGKILL, as the kernel does when memory is exhausted."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore

__all__ = ["WorkerKillingStore"]


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
