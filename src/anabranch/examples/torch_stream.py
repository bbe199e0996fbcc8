"""A PyTorch dataset of a commit as a stream: shuffled by path, prefetched, and resumed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from torch.utils.data import IterableDataset, get_worker_info

from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["FileStream"]


class FileStream(IterableDataset[bytes]):  # type: ignore[misc]  # torch is not there, likewise
    """All objects in the order that `seed` makes of their paths, from number `start` on: as many as
    were used before, a multiple of workers and batch. `ahead` objects are read in advance.
    """

    def __init__(self, snapshot: Snapshot, seed: int, start: int = 0, ahead: int = 500) -> None:
        self.snapshot, self.ahead, paths = snapshot, ahead, [*snapshot.paths()]
        self.order = random.Random(seed).sample(paths, len(paths))[start:]  # noqa: S311

    def __iter__(self) -> Iterator[bytes]:
        worker = get_worker_info()
        mine = self.order[worker.id :: worker.num_workers] if worker else self.order
        with ThreadPoolExecutor(1) as pool:
            block = pool.submit(self._read, mine[: self.ahead])
            for end in range(self.ahead, len(mine) + self.ahead, self.ahead):
                ready, block = block, pool.submit(self._read, mine[end : end + self.ahead])
                yield from ready.result()

    def _read(self, paths: list[str]) -> list[bytes]:
        return [*self.snapshot.read_many(paths)]
