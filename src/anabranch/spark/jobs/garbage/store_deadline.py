"""The deadline of a round for tasks on other machines, whose clocks may be wrong.

It is a time by the clock of the store, which the driver and each task read once: they write a small
file and look at the time that the store gives it. From then on each machine counts the seconds.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone
from anabranch.pipelines.garbage.fence import Deadline

__all__ = ["StoreDeadline"]


class StoreDeadline(NamedTuple):
    """The deadline `until`, in seconds since 1970 by the store's clock. The addresses of the files
    begin with `prefix`, and the caller removes them. It can be pickled.
    """

    until: float
    prefix: str

    @classmethod
    def of(cls, deadline: Deadline, blocks: BlockStore, prefix: str) -> StoreDeadline:
        """Returns a deadline of this machine, or an earlier one, by the store's clock."""
        now = _read_clock(blocks, prefix)
        return cls(now + deadline.left(), prefix)

    def on_this_machine(self, blocks: BlockStore) -> Deadline:
        """Returns the deadline, or an earlier one, by the clocks of this machine."""
        begin = Deadline.after(0)
        left = self.until - _read_clock(blocks, self.prefix)
        return begin.postponed(left)


def _read_clock(blocks: BlockStore, prefix: str) -> int:
    """Returns the time by the store's clock, in seconds since 1970."""
    address = f"{prefix}{secrets.token_hex(8)}"
    blocks.put(address, [b"-"])
    info = blocks.stat(address)
    if info is None:
        raise Gone(f"{address}: a file that has just been written is missing", kind="data_missing")
    return info.mtime
