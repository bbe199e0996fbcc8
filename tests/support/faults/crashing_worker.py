"""Workers that die, for tests: killed as the system kills what takes too much memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore

__all__ = ["DyingStore"]


class DyingStore(NamedTuple):
    """Opens a store by `opener`. The `left`th process but this one, `driver`, that opens it is
    killed there, and no later one; files in `folder` count them.
    """

    opener: Callable[[], BlockStore]
    folder: Path
    left: int
    driver: int

    def __call__(self) -> BlockStore:
        """Returns the store, opened, or never does."""
        if os.getpid() != self.driver:
            for number in range(self.left + 1):
                try:
                    (self.folder / str(number)).touch(exist_ok=False)
                except FileExistsError:
                    continue
                if number == self.left:
                    os.kill(os.getpid(), signal.SIGKILL)
                break
        return self.opener()
