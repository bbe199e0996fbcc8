"""Removers, which remove batches of dead objects permanently or into quarantine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.quarantine import Quarantine, Removal
from anabranch.errors import Busy, NotSupported
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.quarantine_files import (
    Part,
    QuarantinedObject,
    QuarantineFiles,
)
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = [
    "STORE_THREADS",
    "Deletion",
    "PreparedBatch",
    "QuarantineRemover",
    "QuarantineTime",
    "Remover",
    "delete_with_backoff",
    "existing_rows",
    "find_objects",
    "require_quarantine",
    "retry_while_busy",
    "to_removals",
]

STORE_THREADS = 16
"""The number of concurrent requests to a store about single objects."""

_RETRY_DELAYS = (1.0, 4.0, 15.0, 30.0, 40.0)
"""Seconds to wait before each retry."""


class PreparedBatch(NamedTuple):
    """Objects that are ready for removal: their addresses, relative to the namespace, and their
    sizes in bytes.
    """

    names: Sequence[str]
    sizes: Sequence[int]
    removals: Sequence[Removal] = ()
    part: Part | None = None


class QuarantineTime(NamedTuple):
    """How long removed objects can be restored, in seconds, and a clock in seconds since 1970."""

    seconds: float
    clock: Callable[[], float]


class Deletion:
    """Permanently removes objects, whose addresses are relative to `prefix`."""

    def __init__(
        self, blocks: BlockStore, prefix: str, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._blocks = blocks
        self._prefix = prefix
        self._sleep = sleep

    def prepare(self, batch: pa.RecordBatch, *, exist: bool) -> PreparedBatch:
        """Returns the objects of a batch that exist; removes nothing. `exist` says that all do, or
        else each is looked up.
        """
        if not exist:
            batch = existing_rows(self._blocks, self._prefix, batch)
        return PreparedBatch(batch.column("address").to_pylist(), batch.column("size").to_pylist())

    def remove(self, prepared: PreparedBatch, deadline: Deadline) -> None:
        """Removes a batch. Raises Busy if the store is busy for more than a minute, or until the
        deadline.
        """
        addresses = [self._prefix + name for name in prepared.names]
        delete_with_backoff(self._blocks, addresses, deadline, self._sleep)

    def cancel(self, prepared: PreparedBatch) -> None:
        """Does nothing."""


class QuarantineRemover:
    """Moves objects of a namespace into quarantine, for a run, from which they can be restored for
    a time. Raises NotSupported if the store does not support quarantine.
    """

    def __init__(
        self,
        blocks: BlockStore,
        namespace: Namespace,
        run: str,
        time_kept: QuarantineTime,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._quarantine = require_quarantine(blocks, namespace)
        self._files = QuarantineFiles(blocks, namespace)
        self._prefix = namespace.prefix
        self._run = run
        self._time = time_kept
        self._sleep = sleep

    def prepare(self, batch: pa.RecordBatch, *, exist: bool) -> PreparedBatch:  # noqa: ARG002
        """Records the objects of a batch that exist as a new part of the quarantine."""
        names = batch.column("address").to_pylist()
        objects = find_objects(self._quarantine, self._prefix, names)
        if not objects:
            return PreparedBatch((), ())
        now = self._time.clock()
        until = int(now + self._time.seconds) + 1
        part = self._files.write(self._run, int(now), until, objects)
        removals = to_removals(self._prefix, part, objects)
        names, sizes = [item.address for item in objects], [item.size for item in objects]
        return PreparedBatch(names, sizes, removals, part)

    def remove(self, prepared: PreparedBatch, deadline: Deadline) -> None:
        """Moves a batch into quarantine."""
        retry_while_busy(lambda: self._quarantine.remove(prepared.removals), deadline, self._sleep)

    def cancel(self, prepared: PreparedBatch) -> None:
        """Removes the recorded part."""
        if prepared.part is not None:
            self._files.remove(prepared.part)


Remover: TypeAlias = Deletion | QuarantineRemover
"""Removes batches of candidates."""


def existing_rows(blocks: BlockStore, prefix: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the rows of the objects of a batch, with addresses below `prefix`, that exist."""
    names = batch.column("address").to_pylist()
    found = parallel_map(lambda name: blocks.stat(prefix + name), names, threads=STORE_THREADS)
    return batch.filter(pa.array([info is not None for info in found], pa.bool_()))


def find_objects(
    quarantine: Quarantine, prefix: str, names: Sequence[str]
) -> list[QuarantinedObject]:
    """Returns those of the objects with these names below `prefix` that exist, with their sizes and
    versions.
    """
    versions = parallel_map(
        lambda name: quarantine.size_and_version(prefix + name), names, threads=STORE_THREADS
    )
    return [
        QuarantinedObject(name, *version)
        for name, version in zip(names, versions, strict=True)
        if version is not None
    ]


def to_removals(prefix: str, part: Part, objects: Sequence[QuarantinedObject]) -> list[Removal]:
    """Returns the removals of the objects of a part below `prefix`."""
    return [Removal(prefix, item.address, part.batch, item.version) for item in objects]


def require_quarantine(blocks: BlockStore, namespace: Namespace) -> Quarantine:
    """Returns a store's quarantine. Raises NotSupported if the store cannot restore objects of the
    namespace.
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
    quarantine.require(namespace.prefix)
    return quarantine


def delete_with_backoff(
    blocks: BlockStore,
    addresses: Sequence[str],
    deadline: Deadline,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Removes blocks, with the retries of `retry_while_busy`. Raises Busy."""
    retry_while_busy(lambda: blocks.delete(addresses), deadline, sleep)


def retry_while_busy(
    work: Callable[[], None], deadline: Deadline, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Calls `work`, which changes a store, until it does not raise Busy. Waits increase and add up
    to a minute and a half. There is no retry after the deadline, because the machine may have been
    suspended. Raises Busy if the store stays busy.
    """
    for seconds in _RETRY_DELAYS:
        try:
            return work()
        except Busy:
            sleep(seconds)
            if deadline.passed():
                raise
    return work()
