"""Moving of objects into quarantine by tasks.

A batch is recorded under a name that follows from its objects and its round, by the attempt at the
task that comes first. Other attempts at the same task take over that record, and do not write one
without the objects that have been moved already. For this, each attempt must have the same batches.

The record of a batch is not removed if the deadline has passed: another attempt may have moved its
objects. Objects that are recorded, but were not moved, are at their addresses, and neither a
restoration nor a purge changes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.quarantine_files import (
    Part,
    QuarantinedObject,
    QuarantineFiles,
)
from anabranch.pipelines.garbage.sweeping.removal import (
    QuarantineTime,
    find_objects,
    require_quarantine,
    retry_while_busy,
    to_removals,
)
from anabranch.spark.jobs.parts import HashReader

__all__ = ["RoundQuarantine", "read_quarantined"]


class RoundQuarantine(NamedTuple):
    """The quarantine of a round of `run`. The times are in seconds since 1970, by the driver's
    clock: when the round began, and until when its objects can be restored. It can be pickled.
    """

    namespace: Namespace
    run: str
    removed_at: int
    until: int

    @classmethod
    def of(
        cls, namespace: Namespace, run: str, time_kept: QuarantineTime, deadline: Deadline
    ) -> RoundQuarantine:
        """Returns the quarantine of a round with a deadline. Objects can be restored for the given
        time from the deadline on, as the clocks of tasks may be wrong.
        """
        now = time_kept.clock()
        until = now + max(0.0, deadline.left()) + time_kept.seconds
        return cls(namespace, run, int(now), int(until) + 1)

    def move(
        self, blocks: BlockStore, names: Sequence[str], deadline: Deadline
    ) -> Sequence[QuarantinedObject] | None:
        """Moves those of the objects that exist, and returns them, or None if the deadline has
        passed. Raises Busy if the store stays busy.
        """
        prefix = self.namespace.prefix
        quarantine = require_quarantine(blocks, self.namespace)
        files = QuarantineFiles(blocks, self.namespace)
        id_ = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        part = Part.of(self.run, self.removed_at, self.until, id_)
        objects: Sequence[QuarantinedObject] = files.read(part)
        if not objects:
            found = find_objects(quarantine, prefix, names)
            if not found:
                return ()
            objects = files.write_once(part, found)
        if deadline.passed():
            return None
        removals = to_removals(prefix, part, objects)
        retry_while_busy(lambda: quarantine.remove(removals), deadline)
        return objects


def read_quarantined(read: HashReader, address: str) -> Iterator[pa.RecordBatch]:
    """Yields the hashes of the addresses in a part of the quarantine, unless the part was removed
    meanwhile.
    """
    with suppress(Gone):
        yield from read(address)
