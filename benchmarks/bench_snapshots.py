"""Benchmarks snapshots: look-ups, listings and patterns of a large commit, reads of small objects.

    python benchmarks/bench_snapshots.py --entries 1000000 --objects 10000        a minute or two

The commit is looked up in a folder and through a server over SQLite on the same machine. Look-ups
are of random paths, by one thread. Of reads the processor time of the client and of the server are
printed, which is what each spends; the wall time includes both.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
from proc_stats import cpu_seconds

import anabranch
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.testing.server import Server, running_server

SIZE = 512
LOOKUPS = 200_000
PATH = "data/{:03}/{:07}.jpg"


def paths_of(entries: int) -> list[str]:
    """Returns the paths of the large commit."""
    return [PATH.format(number // 1000, number) for number in range(entries)]


def fill(folder: Path, entries: int, objects: int) -> None:
    """Commits entries without bytes to `large`, and small objects to `small`."""
    with anabranch.open(folder, committer="bench") as lake:
        for name in ("large", "small"):
            lake.repositories.create(name)
        rows = {
            "path": paths_of(entries),
            "physical_address": [f"local://raw/{number:020}" for number in range(entries)],
            "size": [SIZE] * entries,
            "checksum": [f"{number:032x}" for number in range(entries)],
            "mtime": [1_700_000_000] * entries,
        }
        lake.import_listing("large", "main", pa.table(rows), verify="none")
        branch = lake.repository("small").branch("main")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: branch.write(path, os.urandom(SIZE)), paths_of(objects)))
        branch.commit("objects")


def consume(items: Iterable[object]) -> None:
    """Goes through all items and keeps none."""
    deque(items, maxlen=0)


def report(name: str, work: Callable[[], object], count: int, server: Server | None = None) -> None:
    """Prints what a piece of work takes, and how many of its items are done in a second of CPU."""
    served = cpu_seconds(server.pid) if server else 0.0
    began, used = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    line = f"{name:<36} {wall:>8.2f} s {cpu:>8.2f} s CPU {count / cpu:>12,.0f} in a second of CPU"
    if server:
        line += f"   server {cpu_seconds(server.pid) - served:.2f} s CPU"
    print(line, flush=True)


def measure_large(kind: str, make: Callable[[], Snapshot], entries: int) -> None:
    """Measures look-ups and listings."""
    report(f"{kind}: first listing", lambda: consume(make().paths()), entries)
    snapshot = make()
    chosen = random.Random(1).choices(paths_of(entries), k=LOOKUPS)
    in_order = sorted(chosen)
    for order, some in (("random", chosen), ("in order", in_order)):
        report(f"{kind}: exists, {order}", partial(consume, map(snapshot.exists, some)), LOOKUPS)
        report(f"{kind}: stat, {order}", partial(consume, map(snapshot.stat, some)), LOOKUPS)
    report(f"{kind}: paths", lambda: [*snapshot.paths()], entries)
    report(f"{kind}: list, with properties", partial(consume, snapshot.list()), entries)
    report(f"{kind}: glob", lambda: [*snapshot.glob("data/*/*5.jpg")], entries)


def measure_reads(kind: str, snapshot: Snapshot, server: Server | None = None) -> None:
    """Measures reads of all objects."""
    paths = [*snapshot.paths()]
    for _ in range(2):
        report(f"{kind}: read_many", lambda: [*snapshot.read_many(paths)], len(paths), server)
    some = paths[:1000]
    report(f"{kind}: read, one by one", lambda: [*map(snapshot.read, some)], len(some), server)


def main() -> None:
    """Prints a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--objects", type=int, default=10_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "lake")
        fill(folder, given.entries, given.objects)
        with anabranch.open(folder) as lake:
            measure_large("folder", lambda: lake.snapshot("large", "main"), given.entries)
            measure_reads("folder", lake.snapshot("small", "main"))
        with (
            running_server(folder) as server,
            anabranch.connect(
                server.url, *server.auth, cache_folder=Path(scratch, "cache")
            ) as remote,
        ):
            measure_large("server", lambda: remote.snapshot("large", "main"), given.entries)
            measure_reads("server", remote.snapshot("small", "main"), server)


if __name__ == "__main__":
    main()
