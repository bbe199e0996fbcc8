"""Limits of a process that merges or compares an object, mostly a table."""

from __future__ import annotations

import os
import resource

import msgspec

from anabranch.child_process.limits import set_limits

__all__ = ["TABLE", "TableLimits", "split_hint"]

TABLE = "table"
"""What is merged or compared, for messages, if it is no document or text."""

_AFTER_TIME = 10
"""Seconds of processor time after which a process ends that was not killed when its time was up."""


def split_hint(noun: str) -> str:
    """Returns what can be done about what exceeds a limit."""
    return f"Split the {noun} into smaller objects."


class TableLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the merge or comparison of one table: `seconds` from its start to its result;
    `memory_bytes` of its process, of which DuckDB uses at most half; `file_bytes` of each file that
    it writes, such as the content of a compressed one. `processes` is the number of them that run
    at once.
    """

    seconds: float = 600.0
    memory_bytes: int = 3 << 30
    file_bytes: int = 16 << 30
    processes: int = 2

    def apply(self) -> None:
        """Limits this process for good. It leaves no memory image if it crashes: that would hold
        the rows that it has read.
        """
        limits = {
            resource.RLIMIT_DATA: self.memory_bytes,
            resource.RLIMIT_CPU: int(self.seconds) * (os.cpu_count() or 1) + _AFTER_TIME,
            resource.RLIMIT_FSIZE: self.file_bytes,
            resource.RLIMIT_CORE: 0,
        }
        set_limits(limits)
