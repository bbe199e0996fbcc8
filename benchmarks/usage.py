"""What a server's processes have used of the machine, from /proc."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["cpu_seconds", "memory_mib"]

_TICKS = os.sysconf("SC_CLK_TCK")


def processes(pid: int) -> list[int]:
    """Returns a process and all below it."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").iterdir():
            with suppress(FileNotFoundError):  # a thread that has ended meanwhile
                found += map(int, (task / "children").read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """Returns the processor time of a process and all below it, to a hundredth of a second."""
    total = 0
    for each in processes(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def memory_mib(pid: int) -> tuple[float, float]:
    """Returns the memory of a process and all below it, in MiB: what is resident, and what of it
    is their own, which leaves out the mapped files that the system can take back at any time.
    """
    resident = own = 0
    for each in processes(pid):
        for line in Path(f"/proc/{each}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "VmRSS":
                resident += int(value.split()[0])
            elif name == "RssAnon":
                own += int(value.split()[0])
    return resident / 1024, own / 1024
