"""What a process may use."""

from __future__ import annotations

import resource
from collections.abc import Mapping

import msgspec

__all__ = ["Limits", "set_limits"]

_FILE_BYTES = 16 << 30


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of address space, or None, and seconds of processor time."""

    memory_bytes: int | None = None
    cpu_seconds: int

    def apply(self) -> None:
        """Limits this process and those that it starts, for good. It leaves no memory image if it
        crashes: that would hold the objects that it has read.
        """
        limits = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: _FILE_BYTES,
            resource.RLIMIT_CPU: self.cpu_seconds,
        }
        if self.memory_bytes is not None:
            limits[resource.RLIMIT_AS] = self.memory_bytes
        set_limits(limits)


def set_limits(limits: Mapping[int, int]) -> None:
    """Limits this process and those that it starts, for good, by the constants of `resource`. A
    limit that is lower already stays.
    """
    for name, value in limits.items():
        _, hard = resource.getrlimit(name)
        lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (lowest, lowest))
