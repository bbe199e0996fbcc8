"""Benchmarks the stores of a single machine: SQLite for references, a local folder for blocks.

    python benchmarks/bench_stores.py [--folder DIR] [--seconds S]

Each line is one kind of operation: operations per second, microseconds of this process's CPU per
operation, and the latency. Durable operations wait for the disk, so their rates are the disk's: the
first line is the current cost of one append and sync.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

KEYS = 100_000
VALUE_BYTES = 200
BIG_BYTES = 256 << 20
MIB = 1 << 20


def measure(
    name: str, work: Callable[[int, int], object], *, threads: int = 1, seconds: float, per: int = 1
) -> None:
    """Calls work(thread, round) from so many threads for some seconds and prints a line; each
    call is `per` operations.
    """
    end = time.perf_counter() + seconds
    taken: list[list[float]] = [[] for _ in range(threads)]

    def run(thread: int) -> None:
        times = taken[thread]
        now = time.perf_counter()
        round_ = 0
        while now < end:
            work(thread, round_)
            before, now = now, time.perf_counter()
            times.append(now - before)
            round_ += 1

    cpu, start = time.process_time(), time.perf_counter()
    if threads == 1:
        run(0)
    else:
        workers = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - start
    times = sorted(time for part in taken for time in part)
    count = len(times) * per
    print(
        f"{name:<44}{count / wall:>11,.0f}/s {cpu / count * 1e6:>9.1f} CPU-µs"
        f"   p50 {times[len(times) // 2] * 1e3:>8.3f} ms"
        f"   p99 {times[len(times) * 99 // 100] * 1e3:>8.3f} ms",
        flush=True,
    )


def key_of(number: int) -> bytes:
    return b"objects/%028d" % (number * 7_919 % KEYS)


def bench_disk(folder: Path, seconds: float) -> None:
    with (folder / "append").open("wb", buffering=0) as file:

        def append(_thread: int, _round: int) -> None:
            file.write(b"x" * 4_096)
            os.fdatasync(file.fileno())

        measure("disk: append 4 KiB and sync", append, seconds=seconds)


def bench_keyvalue(folder: Path, seconds: float) -> None:
    path = folder / "metadata.db"
    store = SQLiteStore(path)
    for start in range(0, KEYS, 1_000):
        numbers = range(start, start + 1_000)
        store.apply([Write("p", key_of(number), os.urandom(VALUE_BYTES)) for number in numbers])
    measure("get", lambda _, n: store.get("p", key_of(n)), seconds=seconds)
    hot = key_of(0)
    measure("get of one key", lambda _, __: store.get("p", hot), seconds=seconds)
    hundreds = [[key_of(start + at) for at in range(100)] for start in range(0, KEYS, 1_000)]
    measure(
        "get_many, by 100, a key",
        lambda _, n: store.get_many("p", hundreds[n % len(hundreds)]),
        seconds=seconds,
        per=100,
    )
    measure(
        "scan, by 1,000, a row",
        lambda _, n: list(store.scan("p", key_of(n), limit=1_000)),
        seconds=seconds,
        per=1_000,
    )

    def put(thread: int, number: int) -> None:
        store.apply([Write("p", key_of(thread * 1_000 + number), os.urandom(VALUE_BYTES))])

    for threads in (1, 16, 64):
        name = f"durable set, {threads} in flight"
        measure(name, put, threads=threads, seconds=seconds)

    def swap(thread: int, number: int) -> None:
        key = key_of(thread * 1_000 + number)
        held = store.get("p", key)
        store.apply([Write("p", key, os.urandom(VALUE_BYTES))], [Expect("p", key, held)])

    measure("get and compare and set, 1 in flight", swap, seconds=seconds)
    other = subprocess.Popen([sys.executable, __file__, "--writer", str(path)])
    measure("durable set, 1 in flight, 2nd process too", put, seconds=seconds)
    measure("durable set, 16 in flight, 2nd process too", put, threads=16, seconds=seconds)
    measure("get, 2nd process writing", lambda _, n: store.get("p", key_of(n)), seconds=seconds)
    other.kill()
    other.wait()
    store.close()


def write_for_ever(path: str) -> None:
    """What the second process does: 4 sets in flight."""
    store = SQLiteStore(path)

    def run(thread: int) -> None:
        number = 0
        while True:
            store.apply([Write("p", key_of(thread * 777 + number), os.urandom(VALUE_BYTES))])
            number += 1

    for thread in range(4):
        threading.Thread(target=run, args=(thread,)).start()


def bench_blocks(folder: Path, seconds: float) -> None:
    store = LocalBlocks(folder / "blocks")
    body = os.urandom(1_024)
    number = iter(range(1 << 40))

    def put(_thread: int, _round: int) -> None:
        at = next(number)
        store.put(f"local://space/data/{at // 50_000:08}/{at:020}", [body])

    for threads in (1, 16):
        measure(f"put 1 KiB, {threads} in flight", put, threads=threads, seconds=seconds)
    names = [info.address for info in store.list("local://space/data/")]
    for name, use in (
        ("read 1 KiB", store.read),
        ("get 1 KiB, in pieces", lambda address: b"".join(store.get(address))),
        ("read 100 bytes of 1 KiB", lambda address: store.read(address, 500, 100)),
        ("stat", store.stat),
    ):
        measure(name, lambda _, n, use=use: use(names[n * 7_919 % len(names)]), seconds=seconds)
    measure(
        "list, a block",
        lambda _, __: len(list(store.list("local://space/data/"))),
        seconds=seconds,
        per=len(names),
    )
    piece = os.urandom(MIB)
    pieces = BIG_BYTES // MIB
    big = "local://space/big"
    measure(
        "put 256 MiB, a MiB",
        lambda _, __: store.put(big, (piece for _ in range(pieces))),
        seconds=seconds,
        per=pieces,
    )
    measure(
        "get 256 MiB, a MiB",
        lambda _, __: sum(map(len, store.get(big))),
        seconds=seconds,
        per=pieces,
    )
    measure(
        "copy 256 MiB, checksum known, a MiB",
        lambda _, __: store.copy(big, f"{big}-copy", checksum="0" * 32),
        seconds=seconds,
        per=pieces,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--folder", help="where to write; a temporary folder if not given")
    arguments.add_argument("--seconds", type=float, default=1.0, help="for each line")
    arguments.add_argument("--writer", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.writer:
        write_for_ever(given.writer)
        return
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    try:
        bench_disk(folder, given.seconds)
        bench_keyvalue(folder, given.seconds)
        bench_blocks(folder, given.seconds)
        bench_disk(folder, given.seconds)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
