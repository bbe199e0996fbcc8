"""Stores that make the clock of worker processes wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from anabranch.blocks.contract import BlockStore

__all__ = ["ClockShiftingStore"]


class ClockShiftingStore(NamedTuple):
    """Opens a store with `opener`. While a process other than `driver` has it open, its clock is
    ahead by `seconds`.
    """

    opener: Callable[[], BlockStore]
    seconds: float
    driver: int

    def __call__(self) -> BlockStore:
        """Returns the opened store."""
        blocks = self.opener()
        if os.getpid() == self.driver:
            return blocks
        return cast("BlockStore", _ShiftedClock(blocks, self.seconds))


class _ShiftedClock:
    def __init__(self, blocks: BlockStore, seconds: float) -> None:
        self._blocks = blocks
        self._right = time.time

        def shifted() -> float:
            return self._right() + seconds

        vars(time)["time"] = shifted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blocks, name)

    def close(self) -> None:
        """Closes the store; the clock is right again."""
        vars(time)["time"] = self._right
        self._blocks.close()
