"""The report of server benchmarks: processor time per operation, latency and throughput."""

from __future__ import annotations

import time
from collections.abc import Callable

from load import Load, Measured
from proc_stats import cpu_seconds

__all__ = ["ReportTable"]

_WARM_UP = 20
_REPETITIONS = 5


class ReportTable:
    """A report with a line for each measurement, printed immediately. `pid` is the server's process
    ID, and `database` that of its database server, if it has one.
    """

    def __init__(self, load: Load, pid: int, seconds: float, database: int | None = None) -> None:
        self._load = load
        self._pids = [pid] if database is None else [pid, database]
        self._seconds = seconds
        columns = ["CPU us/op", "database", "p50 ms", "p99 ms", "op/s"]
        if database is None:
            columns.remove("database")
        print(f"{'':<46} {' '.join(f'{column:>9}' for column in columns)}")

    def requests(
        self, name: str, make: Callable[[], bytes], in_flight: int, *, size: int = 0
    ) -> None:
        """Measures single requests. If `size` is given, the number of bytes that each request
        transfers, a second line reports the throughput.
        """
        self._load.run(make, in_flight=in_flight, count=4 if size else _WARM_UP)
        before = self._cpu_seconds()
        measured = self._load.run(make, in_flight=in_flight, seconds=self._seconds)
        time.sleep(0.05)
        used = self._since(before)
        self._line(f"{name}, {in_flight} in flight", measured, used)
        if size:
            megabytes = size * measured.count / 1e6
            by_cpu = megabytes / used[0]
            print(f"{'':<46} {by_cpu:,.0f} MB/s of CPU, {megabytes / measured.whole:,.0f} MB/s")

    def repeated(self, name: str, prepare: Callable[[], Callable[[], object]]) -> None:
        """Measures a large operation several times. `prepare` returns the operation and is called
        before each repetition, outside the measurement.
        """
        seconds, used = [], [0.0 for _ in self._pids]
        for _ in range(_REPETITIONS):
            step = prepare()
            before, began = self._cpu_seconds(), time.perf_counter()
            step()
            seconds.append(time.perf_counter() - began)
            used = [sum(pair) for pair in zip(used, self._since(before), strict=True)]
        self._line(name, Measured(sorted(seconds), sum(seconds)), used)

    def _cpu_seconds(self) -> list[float]:
        return [cpu_seconds(pid) for pid in self._pids]

    def _since(self, before: list[float]) -> list[float]:
        return [now - then for now, then in zip(self._cpu_seconds(), before, strict=True)]

    def _line(self, name: str, measured: Measured, used: list[float]) -> None:
        p50, p99 = measured.at(0.5) * 1e3, measured.at(0.99) * 1e3
        rate = measured.count / measured.whole
        cpu = " ".join(f"{seconds / measured.count * 1e6:>9,.0f}" for seconds in used)
        print(f"{name:<46} {cpu} {p50:>9,.2f} {p99:>9,.2f} {rate:>9,.1f}", flush=True)
