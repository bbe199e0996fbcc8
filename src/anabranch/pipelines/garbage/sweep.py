"""The sweep: candidates that have waited long enough are removed, as long as they are still dead.

It goes batch by batch and looks again at what lives before the first and every minute after. It may
be stopped anywhere: what is gone is gone, and the next run finds the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Busy
from anabranch.pipelines.garbage.address_hashes import hashes_of
from anabranch.pipelines.garbage.living import Living
from anabranch.pipelines.garbage.namespace import Namespace
from anabranch.pipelines.garbage.unmarked import is_in
from anabranch.pipelines.garbage.watching import Watching

__all__ = ["BATCH", "Removed", "StillDead", "Sweep", "remove_patiently"]

BATCH = 1000
"""As many as S3 removes in one request."""

_LOOK_SECONDS = 60.0
_WAITS = (1.0, 4.0, 15.0, 30.0, 40.0)


class Removed(NamedTuple):
    """What became of a batch."""

    objects: int
    size: int
    revived: int


class Sweep:
    """Removes candidates, at most `rate` of them a second if that is given. `ticks` is a clock that
    never goes back, in seconds.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        living: Living,
        watching: Watching,
        *,
        rate: float | None = None,
        ticks: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._blocks = blocks
        self._namespace = namespace
        self._living = living
        self._watching = watching
        self._rate = rate
        self._ticks = ticks
        self._sleep = sleep

    def remove(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Removed]:
        """Removes the objects of batches of candidates and yields what was done, batch by batch.
        Raises what a look raises, and what the store does; nothing more is removed then.
        """
        still_dead = StillDead(self._living)
        started, looked, done = self._ticks(), float("-inf"), 0
        for batch in _small(batches):
            if self._ticks() - looked >= _LOOK_SECONDS:
                self._living.look()
                looked = self._ticks()
            dead = still_dead.of(batch)
            stem = self._namespace.stem
            names = [stem + name for name in dead.column("address").to_pylist()]
            remove_patiently(self._blocks, names, self._sleep)
            done += dead.num_rows
            self._watching.advance(batch.num_rows)
            size = pc.sum(dead.column("size")).as_py() or 0
            yield Removed(dead.num_rows, size, batch.num_rows - dead.num_rows)
            if self._rate:
                self._sleep(max(0.0, done / self._rate - (self._ticks() - started)))


class StillDead:
    """Which candidates no look has found alive since the marking."""

    def __init__(self, living: Living) -> None:
        self._living = living
        self._marked = len(living.hashes)

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns those of a batch."""
        hashes = hashes_of(batch.column("address"))
        alive = np.zeros(batch.num_rows, np.bool_)
        for found in self._living.hashes[self._marked :]:
            alive |= is_in(hashes, found)
        return batch.filter(pa.array(~alive))


def remove_patiently(
    blocks: BlockStore, addresses: Sequence[str], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Removes blocks; a store that cannot now is asked again, after longer and longer waits of a
    minute and a half together. Raises Busy if it still cannot.
    """
    for seconds in _WAITS:
        try:
            return blocks.delete(addresses)
        except Busy:
            sleep(seconds)
    return blocks.delete(addresses)


def _small(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            yield batch.slice(start, BATCH)
