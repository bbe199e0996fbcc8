"""Benchmarks the mark phase of garbage collection in one process.

The listing is read from record batches, as from an inventory, so the time of the store's own
listing is not included. The references are the commits of a real repository, which refer to nine
tenths of the listed objects. The first run reads all ranges, the second reuses the marks of the
first.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listed", type=int, default=2_000_000)
    listed = parser.parse_args().listed
    referenced = listed * 9 // 10
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder,
        lake_of(folder) as lake,
    ):
        sea = lake.repositories.create("sea", "local://sea")
        batches = entries(referenced)
        first = next(batches)

        def all_batches() -> Iterator[pa.RecordBatch]:
            yield first
            yield from batches

        reader = pa.RecordBatchReader.from_batches(first.schema, all_batches())
        tables = lake.core.trees.write_folder(lake.core.repositories.get("sea"))
        written = kernel.write_arrow(reader, tables)
        lake.core.trees.adopt(lake.core.repositories.get(sea.id), tables, written)
        lake.commits.commit(
            "sea", "main", message="m", committer="c", source_metarange=written.metarange_id
        )
        print(f"{listed:,} listed, {referenced:,} referenced, {len(written.tables):,} tables")
        print(f"{'':<24} {'s':>7} {'CPU s':>7} {'M listed/s':>11} {'peak MiB':>9}")
        inventory = Path(folder, "inventory.arrow")
        with pa.OSFile(str(inventory), "wb") as file, pa.ipc.new_file(file, LISTING) as writer:
            for batch in listing(listed):
                writer.write_batch(batch)
        collector = Collector(lake.core, lake.blocks, Path(folder, "gc"), clock=time.time)
        for name in ("every range is read", "marks are reused"):
            began, used = time.perf_counter(), time.process_time()
            with (
                pa.memory_map(str(inventory)) as file,
                collector.mark("sea", listing=batches_of(pa.ipc.open_file(file))) as run,
            ):
                wall, cpu = time.perf_counter() - began, time.process_time() - used
                assert run.summary.candidates.objects == listed - referenced
                rate = listed / wall / 1e6
                print(f"{name:<24} {wall:>7.2f} {cpu:>7.2f} {rate:>11.2f} {peak_mib():>9.0f}")
            time.sleep(1.1)  # runs of one second do not know each other's order


if __name__ == "__main__":
    main()
