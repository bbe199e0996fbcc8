"""How a sweep removes a batch of dead objects: for good, or so that they can be restored."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.quarantine import Quarantine, Removal
from anabranch.errors import Busy, NotSupported
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.quarantine_files import Held, Part, QuarantineFiles
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = [
    "STORE_THREADS",
    "Deletion",
    "QuarantineRemover",
    "Ready",
    "Remover",
    "delete_with_backoff",
    "no_quarantine",
    "quarantine_of",
    "retry_while_busy",
]

STORE_THREADS = 16
"""The number of requests about single objects that a store is sent at a time."""

_WAITS = (1.0, 4.0, 15.0, 30.0, 40.0)


class Ready(NamedTuple):
    """A batch that can be removed now: how many objects, and their bytes."""

    objects: int
    size: int
    addresses: Sequence[str] = ()
    removals: Sequence[Removal] = ()
    part: Part | None = None


class Remover(Protocol):
    """Removes batches of candidates."""

    def prepare(self, batch: pa.RecordBatch) -> Ready:
        """Does what must be done before a batch is removed; removes nothing."""

    def remove(self, ready: Ready, deadline: Deadline) -> None:
        """Removes a batch. Raises Busy if the store cannot for more than a minute, or until the
        deadline.
        """

    def drop(self, ready: Ready) -> None:
        """Takes the preparation of a batch back that is not removed."""


class Deletion:
    """Removes objects below `stem` for good."""

    def __init__(
        self, blocks: BlockStore, stem: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._blocks = blocks
        self._stem = stem
        self._sleep = sleep

    def prepare(self, batch: pa.RecordBatch) -> Ready:
        """Returns the batch."""
        addresses = [self._stem + name for name in batch.column("address").to_pylist()]
        return Ready(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0, addresses)

    def remove(self, ready: Ready, deadline: Deadline) -> None:
        """Removes a batch."""
        delete_with_backoff(self._blocks, ready.addresses, deadline, self._sleep)

    def drop(self, ready: Ready) -> None:
        """Does nothing."""


class QuarantineRemover:
    """Removes objects of a namespace on behalf of a run so that they can be restored for `seconds`.
    `clock` gives seconds since 1970. Raises NotSupported where the store cannot do that.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        run: str,
        seconds: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._quarantine = quarantine_of(blocks, namespace)
        self._files = QuarantineFiles(blocks, namespace)
        self._stem = namespace.stem
        self._run = run
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep

    def prepare(self, batch: pa.RecordBatch) -> Ready:
        """Writes down what is about to be removed of a batch: those objects that are there."""
        names = batch.column("address").to_pylist()
        found = parallel_map(
            lambda name: self._quarantine.size_and_version(self._stem + name),
            names,
            threads=STORE_THREADS,
        )
        held = [
            Held(name, *known)
            for name, known in zip(names, found, strict=True)
            if known is not None
        ]
        if not held:
            return Ready(0, 0)
        now = self._clock()
        part = self._files.write(self._run, int(now), int(now + self._seconds) + 1, held)
        removals = [Removal(self._stem, each.address, part.batch, each.version) for each in held]
        return Ready(len(held), sum(each.size for each in held), removals=removals, part=part)

    def remove(self, ready: Ready, deadline: Deadline) -> None:
        """Moves a batch into quarantine."""
        retry_while_busy(lambda: self._quarantine.remove(ready.removals), deadline, self._sleep)

    def drop(self, ready: Ready) -> None:
        """Removes the part that was written."""
        if ready.part is not None:
            self._files.remove(ready.part)


def no_quarantine(engine: str) -> NotSupported:
    """Returns the error of an engine that removes objects for good alone."""
    return NotSupported(
        f"the engine {engine} does not put objects into quarantine",
        kind="quarantine_not_supported",
        hint="Use the engine of this process (--engine local), or sweep without quarantine.",
    )


def quarantine_of(blocks: BlockStore, namespace: Namespace) -> Quarantine:
    """Returns a store's quarantine. Raises NotSupported if objects of a namespace cannot be brought
    back there.
    """
    quarantine = blocks.quarantine
    if quarantine is None:
        kind = blocks.config.blockstore_type
        raise NotSupported(
            f"a store of the type {kind} has no quarantine: what is removed there cannot be "
            "restored",
            kind="quarantine_not_supported",
            hint="Sweep without quarantine. Local folders and versioned buckets of S3 have one.",
        )
    quarantine.require(namespace.stem)
    return quarantine


def delete_with_backoff(
    blocks: BlockStore,
    addresses: Sequence[str],
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Removes blocks; a busy store is asked again as `retry_while_busy` does. Raises Busy."""
    retry_while_busy(lambda: blocks.delete(addresses), deadline, sleep)


def retry_while_busy(
    work: Callable[[], None], deadline: Deadline, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Does something to a store; one that cannot now is asked again, after longer and longer waits
    of a minute and a half together, but not after the deadline: the machine may have been suspended
    meanwhile. Raises Busy if the store still cannot.
    """
    for seconds in _WAITS:
        try:
            return work()
        except Busy:
            sleep(seconds)
            if deadline.passed():
                raise
    return work()
