"""Benchmarks the sweep fence, which protects new references from a concurrent sweep.

    python benchmarks/bench_fence.py                          without a sweep, and during one
    python benchmarks/bench_fence.py --beside CHECKOUT/src    also the server of another commit

Each operation runs in turns on each server; the medians of processor time are compared. CHECKOUT
is a checkout of another commit (`git worktree add`) with the kernel module among its sources. See
README.md.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from api_requests import ApiRequests
from load import Load
from proc_stats import cpu_seconds

from anabranch.testing.server import Server, running_server

REPOSITORY = "benchmark"
BASE = f"/repositories/{REPOSITORY}"
PATHS = 500
TOMBSTONES = 1000
SWEEP = "0" * 20
ONE_KIB = random.Random(0).randbytes(1024)


class Operation(NamedTuple):
    """What is measured: `prepare` returns so many requests, a `share` of those that are asked for
    where they take long to prepare.
    """

    name: str
    in_flight: int
    prepare: Callable[[Side, int], Iterator[bytes]]
    share: float = 1.0


class Side:
    """A server that is measured, and a folder with its blocks."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connect()
        body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        self.api.call("POST", "/repositories", body)

    def _connect(self) -> None:
        """Opens new connections: the server closes those that wait for more than a minute."""
        self._load = Load(self._server.url)
        self.api = ApiRequests(self._load, self._server.url, self._server.auth)

    def measure(self, operation: Operation, count: int) -> float:
        """Returns the processor time of each of so many operations, in seconds."""
        self._connect()
        requests = operation.prepare(self, count)
        before = cpu_seconds(self._server.pid)
        self._load.run(requests.__next__, in_flight=operation.in_flight, count=count)
        time.sleep(0.05)
        return (cpu_seconds(self._server.pid) - before) / count

    def begin_sweep(self) -> None:
        """Begins a sweep, with a round of tombstones."""
        self._connect()
        self.api.call("PUT", f"{BASE}/gc/sweeps/{SWEEP}")
        addresses = [
            f"local://{REPOSITORY}/data/{'c' * 20}/{number:020}" for number in range(TOMBSTONES)
        ]
        self.api.call("POST", f"{BASE}/gc/sweeps/{SWEEP}/tombstones", {"addresses": addresses})

    def end_sweep(self) -> None:
        """Ends the sweep."""
        self.api.call("DELETE", f"{BASE}/gc/sweeps/{SWEEP}")


def make_path(number: int) -> str:
    """Returns the query of an object's path."""
    return f"path=new/{number % PATHS:06d}"


def puts(side: Side, count: int) -> Iterator[bytes]:
    """Uploads of 1 KiB."""
    at = f"{BASE}/branches/main/objects?"
    return iter(
        [side.api.request("POST", at + make_path(number), ONE_KIB) for number in range(count)]
    )


def stages(side: Side, count: int) -> Iterator[bytes]:
    """Stagings of an object by its address."""
    stat = side.api.call("POST", f"{BASE}/branches/main/objects?path=source", ONE_KIB)
    body = {
        "physical_address": stat["physical_address"],
        "checksum": stat["checksum"],
        "size_bytes": stat["size_bytes"],
    }
    at = f"{BASE}/branches/main/objects?"
    return (side.api.request("PUT", at + make_path(number), body) for number in range(count))


def links(side: Side, count: int) -> Iterator[bytes]:
    """Links of objects that were stored at addresses that the server gave."""
    made = []
    for number in range(count):
        at = f"{BASE}/branches/main/staging/backing?{make_path(number)}"
        place = side.api.call("GET", at)
        address = place["physical_address"]
        file = Path(address.removeprefix("local://"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(ONE_KIB)
        body = {"staging": place, "checksum": "0" * 32, "size_bytes": len(ONE_KIB)}
        made.append(side.api.request("PUT", at, body))
    return iter(made)


def branches(side: Side, count: int) -> Iterator[bytes]:
    """New branches."""
    numbers = itertools.count(time.monotonic_ns())
    source = {"source": "main"}
    return iter(
        [
            side.api.request("POST", f"{BASE}/branches", {"name": f"b{next(numbers)}", **source})
            for _ in range(count)
        ]
    )


OPERATIONS = (
    Operation("put of 1 KiB", 1, puts, 0.5),
    Operation("put of 1 KiB", 16, puts),
    Operation("stage by address", 16, stages),
    Operation("link by address", 16, links, 0.2),
    Operation("create a branch", 8, branches, 0.2),
)


def compare(sides: dict[str, Side], rounds: int, count: int, only: str) -> None:
    """Measures everything in turns and prints the table."""
    columns = ["here", "in a sweep", *(name for name in sides if name != "here")]
    compared = [("in a sweep", "here"), *(("here", name) for name in columns[2:])]
    heads = [*columns, *(f"{one} / {other}" for one, other in compared)]
    print(f"{'CPU us/op':<33} {' '.join(f'{head:>17}' for head in heads)}")
    for operation in OPERATIONS:
        if not re.search(only, operation.name):
            continue
        seconds: dict[str, list[float]] = {name: [] for name in columns}
        for number in range(rounds + 1):  # the first warms up
            for name in columns if number % 2 else reversed(columns):
                side = sides["here" if name == "in a sweep" else name]
                if name == "in a sweep":
                    side.begin_sweep()
                used = side.measure(operation, int(count * operation.share))
                if name == "in a sweep":
                    side.end_sweep()
                if number:
                    seconds[name].append(used * 1e6)
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        name = f"{operation.name}, {operation.in_flight} in flight"
        shown = [f"{medians[column]:>17,.0f}" for column in columns]
        # few operations may take less than a tick of the clock
        ratios = [medians[one] / (medians[other] or math.nan) for one, other in compared]
        shown += [f"{ratio:>17.3f}" for ratio in ratios]
        print(f"{name:<33} {' '.join(shown)}", flush=True)


def main() -> None:
    """Runs the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", metavar="SRC", help="sources of another commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=2000, help="operations in a round")
    parser.add_argument("--only", default="", help="a regular expression for names of operations")
    given = parser.parse_args()
    with ExitStack() as stack:
        sides = {}
        for name, source in (("here", None), ("beside", given.beside)):
            if name == "here" or source:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="anabranch-bench-"))
                env = {"PYTHONPATH": str(Path(source).resolve())} if source else {}
                sides[name] = Side(stack.enter_context(running_server(folder, env=env)))
        compare(sides, given.rounds, given.count, given.only)


if __name__ == "__main__":
    main()
