"""Benchmarks the mark phase of garbage collection in one process.

The listing is read from record batches, as from an inventory, so the time of the store's own
listing is not included. The references are the commits of a real repository, which refer to nine
tenths of the listed objects. The first run reads all ranges, the second reuses the marks of the
first. With `--beside`, small repositories are collected beside two large ones.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.library import Lake
from anabranch.pipelines.garbage.addresses.listing import LISTING
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import lake_of

BATCH = 1 << 16
LONG_AGO = 1_600_000_000
DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)


def addresses(first: int, last: int) -> pa.StringArray:
    """Returns data addresses of objects, 50,000 to a folder, in order, as they are made."""
    numbers = np.arange(first, last, dtype=np.uint64)
    text = np.empty((len(numbers), 46), np.uint8)
    text[:, :5] = np.frombuffer(b"data/", np.uint8)
    text[:, 25] = ord("/")
    for column, value in ((5, numbers // np.uint64(50_000)), (26, numbers)):
        # what looks random stands behind a time, as in an XID
        mixed = value * np.uint64(0x9E3779B97F4A7C15)
        text[:, column : column + 7] = np.frombuffer(b"bu9ao00", np.uint8)
        for place in range(13):
            shift = np.uint64(5 * (12 - place))
            text[:, column + 7 + place] = DIGITS[(mixed >> shift) & np.uint64(31)]
    offsets = np.arange(len(numbers) + 1, dtype=np.int32) * 46
    return pa.StringArray.from_buffers(
        len(numbers), pa.py_buffer(offsets), pa.py_buffer(text.tobytes())
    )


def listing(objects: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, objects, BATCH):
        last = min(objects, first + BATCH)
        size = pa.array(np.full(last - first, 1000, np.int64))
        mtime = pa.array(np.full(last - first, LONG_AGO, np.int64))
        yield pa.RecordBatch.from_arrays([addresses(first, last), size, mtime], schema=LISTING)


def batches_of(reader: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    return (reader.get_batch(number) for number in range(reader.num_record_batches))


def entries(referenced: int) -> Iterator[pa.RecordBatch]:
    """Yields the entries of a tree, in the columns that the kernel writes."""
    schema = None
    for first in range(0, referenced, BATCH):
        last = min(referenced, first + BATCH)
        count = last - first
        paths = [
            f"events/{number // 100_000:05d}/part-{number:09d}" for number in range(first, last)
        ]
        columns = {
            "path": pa.array(paths),
            "physical_address": addresses(first, last),
            "address_type": pa.array(np.ones(count, np.int32)),
            "last_modified": pa.array(np.full(count, LONG_AGO * 10**6), pa.timestamp("us", "UTC")),
            "size": pa.array(np.full(count, 1000, np.int64)),
            "checksum": pa.array([f"{number:032x}" for number in range(first, last)]),
            "metadata": pa.array([{}] * count, pa.map_(pa.string(), pa.string())),
            "content_type": pa.array([""] * count),
        }
        batch = pa.RecordBatch.from_pydict(columns)
        schema = schema or batch.schema
        yield batch


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fill(lake: Lake, name: str, referenced: int) -> int:
    """Creates a repository with a commit of objects; returns the number of its tables."""
    lake.repositories.create(name, f"local://{name}")
    stored = lake.core.repositories.get(name)
    batches = entries(referenced)
    first = next(batches)

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    reader = pa.RecordBatchReader.from_batches(first.schema, all_batches())
    tables = lake.core.trees.write_folder(stored)
    written = kernel.write_arrow(reader, tables)
    lake.core.trees.adopt(stored, tables, written)
    lake.commits.commit(
        name, "main", message="m", committer="c", source_metarange=written.metarange_id
    )
    return len(written.tables)


def measure(collector: Collector, name: str, listed: int, inventory: Path) -> str:
    """Marks a repository whose listing is the first objects of the inventory."""
    began, used = time.perf_counter(), time.process_time()
    with pa.memory_map(str(inventory)) as file:
        batches = batches_of(pa.ipc.open_file(file))
        with collector.mark(name, listing=batches) as run:
            wall, cpu = time.perf_counter() - began, time.process_time() - used
            assert run.summary.candidates.objects == listed - listed * 9 // 10
    time.sleep(1.1)  # runs of one second do not know each other's order
    return f"{wall:>7.2f} {cpu:>7.2f} {listed / wall / 1e6:>11.2f} {peak_mib():>9.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listed", type=int, default=2_000_000)
    parser.add_argument(
        "--beside", type=int, default=0, help="also collect three of 10,000 objects beside it"
    )
    options = parser.parse_args()
    listed, small = options.listed, 10_000
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder,
        lake_of(folder) as lake,
    ):
        files = {listed: Path(folder, "inventory.arrow"), small: Path(folder, "small.arrow")}
        for objects, path in files.items():
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, LISTING) as writer:
                for batch in listing(objects):
                    writer.write_batch(batch)
        tables = fill(lake, "sea", listed * 9 // 10)
        print(f"{listed:,} listed, {listed * 9 // 10:,} referenced, {tables:,} tables")
        print(f"{'':<24} {'s':>7} {'CPU s':>7} {'M listed/s':>11} {'peak MiB':>9}")
        collector = Collector(lake.core, lake.blocks, Path(folder, "gc"), clock=time.time)
        for title in ("every range is read", "marks are reused"):
            print(f"{title:<24}", measure(collector, "sea", listed, files[listed]))
        if options.beside:
            fill(lake, "land", options.beside)
            print(f"{small:,} listed, beside {listed * 9 // 10 + options.beside:,} in two others")
            for number in (1, 2, 3):
                fill(lake, f"bay{number}", small * 9 // 10)
                for title in ("first", "second"):
                    line = measure(collector, f"bay{number}", small, files[small])
                    print(f"bay{number}, {title:<17} {line}")


if __name__ == "__main__":
    main()
