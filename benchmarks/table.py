"""The table that benchmarks of a server print: processor time per operation, and latency."""

from __future__ import annotations

import time
from collections.abc import Callable

from load import Load, Measured
from usage import cpu_seconds

__all__ = ["Table"]

_WARM_UP = 20
_REPETITIONS = 5


class Table:
    """A line for each measurement, printed as it is made; `pid` is the server's process."""

    def __init__(self, load: Load, pid: int, seconds: float) -> None:
        self._load = load
        self._pid = pid
        self._seconds = seconds
        print(f"{'':<46} {'CPU us/op':>11} {'p50 ms':>9} {'p99 ms':>9} {'op/s':>9}")

    def requests(
        self, name: str, make: Callable[[], bytes], in_flight: int, *, size: int = 0
    ) -> None:
        """Measures single requests, each of which moves `size` bytes, if that is to be told."""
        self._load.run(make, in_flight=in_flight, count=4 if size else _WARM_UP)
        before = cpu_seconds(self._pid)
        measured = self._load.run(make, in_flight=in_flight, seconds=self._seconds)
        time.sleep(0.05)
        used = cpu_seconds(self._pid) - before
        self._line(f"{name}, {in_flight} in flight", measured, used)
        if size:
            moved = size * measured.count / 1e6
            print(f"{'':<46} {moved / used:,.0f} MB/s of CPU, {moved / measured.whole:,.0f} MB/s")

    def repeated(self, name: str, prepare: Callable[[], Callable[[], object]]) -> None:
        """Measures something large some times over, each time prepared anew and not measured."""
        seconds, used = [], 0.0
        for _ in range(_REPETITIONS):
            step = prepare()
            before, began = cpu_seconds(self._pid), time.perf_counter()
            step()
            seconds.append(time.perf_counter() - began)
            used += cpu_seconds(self._pid) - before
        self._line(name, Measured(sorted(seconds), sum(seconds)), used)

    def _line(self, name: str, measured: Measured, used: float) -> None:
        p50, p99 = measured.at(0.5) * 1e3, measured.at(0.99) * 1e3
        rate = measured.count / measured.whole
        per_operation = used / measured.count * 1e6
        print(
            f"{name:<46} {per_operation:>11,.0f} {p50:>9,.2f} {p99:>9,.2f} {rate:>9,.1f}",
            flush=True,
        )
