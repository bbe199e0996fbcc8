"""Figures of a measurement, and how they are taken: the processor time of this process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Figure", "own_mib", "repeated", "spent"]


class Figure(NamedTuple):
    """What was measured, its value and unit."""

    name: str
    value: float
    unit: str


def repeated(name: str, work: Callable[[], object], times: int = 20) -> Iterator[Figure]:
    """Yields the processor time of work, in milliseconds: of the first time, and the median of the
    next ones.
    """
    taken = [spent(work) * 1e3 for _ in range(times + 1)]
    yield Figure(f"{name}, the first time", taken[0], "ms")
    yield Figure(name, statistics.median(taken[1:]), "ms")


def spent(work: Callable[[], object]) -> float:
    """Does work, and returns its processor time in seconds."""
    began = time.process_time()
    work()
    return time.process_time() - began


def own_mib() -> float:
    """Returns the memory of this process in MiB, without mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024
