"""Benchmarks random look-ups in large trees: microseconds of CPU and of wall time, and memory.

    bench_lookups.py [--objects N] [--folder FOLDER] [--processes N]

Builds a tree in FOLDER unless it exists (98 bytes an object; the default is a temporary folder),
opens it in each process, reads each block once, and then looks up keys in random order: with one
call each, in batches of 1,000 in random order and in batches of 1,000 in the order of keys. All
processes measure the same operation at the same time. Memory is that of the open tables, without
mapped files.

The objects resemble those of `bench_kernel.py`: keys of 52 bytes, incompressible names and
checksums.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pyarrow as pa

from anabranch._kernel import RangeInfo, Tables, Tree, write_metarange, write_ranges_arrow

BATCH = 250_000
CALL = 1_000
KEYS = 200_000
ROUNDS = 5
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


OBJECTS_OF_A_FOLDER = 5_000


def key(number: int) -> bytes:
    return b"warehouse/events/day=%05d/hour=%02d/part-%09d.parq" % (
        number // 4800,
        number // 200 % 24,
        number,
    )


# --- the tree ----------------------------------------------------------------------------------


def _put_decimal(rows: np.ndarray, start: int, width: int, numbers: np.ndarray) -> None:
    for column in range(start + width - 1, start - 1, -1):
        rows[:, column] = ord("0") + numbers % 10
        numbers = numbers // 10


def _text(rows: np.ndarray) -> pa.Array:
    count, width = rows.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(rows))


def _paths(numbers: np.ndarray) -> pa.Array:
    rows = np.tile(np.frombuffer(key(0), np.uint8), (len(numbers), 1))
    _put_decimal(rows, 21, 5, numbers // 4800)
    _put_decimal(rows, 32, 2, numbers // 200 % 24)
    _put_decimal(rows, 40, 9, numbers)
    return _text(rows)


def _hexadecimal(noise: np.random.Generator, count: int, digits: int) -> np.ndarray:
    raw = noise.integers(0, 256, (count, digits // 2), np.uint8)
    return np.stack((DIGITS[raw >> 4], DIGITS[raw & 15]), axis=2).reshape(count, digits)


def batches(first: int, end: int) -> Iterator[pa.RecordBatch]:
    noise = np.random.default_rng(first)
    for start in range(first, end, BATCH):
        numbers = np.arange(start, min(end, start + BATCH), dtype=np.int64)
        count = len(numbers)
        head = np.tile(np.frombuffer(b"data/gk3l", np.uint8), (count, 1))
        slash = np.full((count, 1), ord("/"), np.uint8)
        checksum = _hexadecimal(noise, count, 32)
        # as lakeFS generates addresses, whose folder changes from time to time
        folders = _hexadecimal(noise, -(-count // OBJECTS_OF_A_FOLDER), 16)
        names = [np.repeat(folders, OBJECTS_OF_A_FOLDER, axis=0)[:count], slash, checksum[:, 12:]]
        times = pa.array((1_700_000_000 + numbers) * 1_000_000, pa.timestamp("us", "UTC"))
        columns = {
            "path": _paths(numbers),
            "physical_address": _text(np.ascontiguousarray(np.hstack([head, *names]))),
            "address_type": pa.array(np.ones(count, np.int32)),
            "last_modified": times,
            "size": pa.array(numbers * 7),
            "checksum": _text(checksum),
            "metadata": pa.nulls(count, pa.map_(pa.string(), pa.string())),
            "content_type": pa.array([""]).take(pa.array(np.zeros(count, np.int32))),
        }
        yield pa.RecordBatch.from_pydict(columns)


def _write_part(job: tuple[int, int, str]) -> list[tuple[str, bytes, bytes, int, int]]:
    first, end, folder = job
    stream = batches(first, end)
    head = next(stream)

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield head
        yield from stream

    reader = pa.RecordBatchReader.from_batches(head.schema, all_batches())
    ranges = write_ranges_arrow(reader, folder)
    return [(r.id, r.min_key, r.max_key, r.count, r.estimated_size) for r in ranges]


def build(objects: int, folder: Path) -> str:
    """Returns the id of a tree of so many objects, written if it is not in the folder."""
    name = folder / f"tree-{objects}"
    if not name.exists():
        began = time.perf_counter()
        size = 5_000_000
        jobs = [(at, min(objects, at + size), str(folder)) for at in range(0, objects, size)]
        with multiprocessing.Pool(2) as pool:
            ranges = [RangeInfo(*info) for part in pool.map(_write_part, jobs, 1) for info in part]
        name.write_text(write_metarange(ranges, str(folder)))
        print(f"{objects:,} objects written in {time.perf_counter() - began:.1f} s")
    return name.read_text()


# --- look-ups ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one process measured: the medians of its rounds."""

    index_mib: float
    cpu: dict[str, float]
    """Microseconds of processor time a look-up, by what was measured."""
    rate: dict[str, float]
    """Look-ups a second of time."""


def _own_mib() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no RssAnon")


def _measure(objects: int, folder: str, tree_id: str, seed: int, line: Connection) -> None:
    """Measures in a process of its own, in step with the others, and sends what came of it."""
    tables = Tables(capacity=1 << 16)
    tree = tables.tree(tree_id, lambda table_id: f"{folder}/{table_id}")
    before = _own_mib()
    for info in tree.ranges():
        tree.get(info.min_key)
    index_mib = _own_mib() - before
    for number in range(0, objects, 20):  # blocks have 25 objects
        tree.get(key(number))
    noise = random.Random(seed)
    cpu: dict[str, list[float]] = {}
    rate: dict[str, list[float]] = {}
    gc.disable()
    for _ in range(ROUNDS):
        for name, work in _works(tree, objects, noise):
            line.send(None)
            line.recv()
            began = time.process_time(), time.perf_counter()
            work()
            spent = time.process_time() - began[0], time.perf_counter() - began[1]
            cpu.setdefault(name, []).append(spent[0] / KEYS * 1e6)
            rate.setdefault(name, []).append(KEYS / spent[1])
    middle = [{name: statistics.median(of[name]) for name in of} for of in (cpu, rate)]
    line.send(Measured(index_mib, *middle))


def _works(
    tree: Tree, objects: int, noise: random.Random
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Gives what is measured, each with keys of its own."""

    def one_by_one(names: list[bytes]) -> None:
        get = tree.get
        for name in names:
            get(name)

    def batched(calls: list[list[bytes]]) -> None:
        for call in calls:
            tree.get_many(call)

    names = [key(noise.randrange(objects)) for _ in range(KEYS)]
    calls = [names[at : at + CALL] for at in range(0, KEYS, CALL)]
    yield "get, one call each", lambda: one_by_one(names)
    yield "get_many of 1,000, in random order", lambda: batched(calls)
    in_order = [sorted(call) for call in calls]
    yield "get_many of 1,000, in the order of keys", lambda: batched(in_order)
    dense = noise.randrange(objects)
    row = [[key((dense + at + n) % objects) for n in range(CALL)] for at in range(0, KEYS, CALL)]
    yield "get_many of 1,000 neighbours", lambda: batched(row)


def measure(objects: int, folder: Path, tree_id: str, processes: int) -> list[Measured]:
    """Returns what so many processes measured side by side."""
    lines, workers = [], []
    for seed in range(processes):
        line, theirs = multiprocessing.Pipe()
        job = (objects, str(folder), tree_id, seed, theirs)
        worker = multiprocessing.get_context("spawn").Process(target=_measure, args=job)
        worker.start()
        theirs.close()
        lines.append(line)
        workers.append(worker)
    while None in (answers := [line.recv() for line in lines]):
        for line in lines:
            line.send(None)
    for worker in workers:
        worker.join()
    return [answer for answer in answers if isinstance(answer, Measured)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as fresh:
        folder = options.folder or Path(fresh)
        folder.mkdir(parents=True, exist_ok=True)
        tree_id = build(options.objects, folder)
        measured = measure(options.objects, folder, tree_id, options.processes)
    print(f"{'':44} {'us of CPU':>10} {'a second, all':>14}")
    for name in measured[0].cpu:
        cpu = statistics.mean(each.cpu[name] for each in measured)
        rate = sum(each.rate[name] for each in measured)
        print(f"{name:44} {cpu:10.2f} {rate:14,.0f}")
    print(f"open tables take {measured[0].index_mib:.1f} MiB of each process")


if __name__ == "__main__":
    main()
