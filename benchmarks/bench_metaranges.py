"""Simulates commits with up to a billion objects and more: what a list of all ranges costs.

    bench_metaranges.py [--objects N ...] [--json FILE]

A tree is a list of ranges, its metarange, which each commit writes anew. Here the list is as long
as that of so many objects, 50,000 in a range, but only the ranges around the middle are stored; the
others are entries of the list with made-up ids. So a tree of a billion objects fits on any disk,
and what is measured is what reads and writes the list: opening a tree, a look-up, a page, a commit
of one change, a difference. "of it the list" is without the range that a commit rewrites. Processor
time, medians of five.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bench_lookups
import pyarrow as pa
import pyarrow.compute as pc
from bench_commits import value
from scale.figures import Figure, own_mib

from anabranch._kernel import RangeInfo, Tables, Tree, write_metarange, write_ranges_arrow

OBJECTS_IN_RANGE = 50_000
BLOCK = 10**8
ROUNDS = 5


def key(number: int) -> bytes:
    """Returns the key of an object; those of `bench_lookups.py` are in order up to 480 millions."""
    return b"%03d/" % (number // BLOCK) + bench_lookups.key(number % BLOCK)


def made_up(first: int, end: int) -> Iterator[RangeInfo]:
    """Yields ranges of objects that are not stored."""
    for start in range(first, end, OBJECTS_IN_RANGE):
        last = min(end, start + OBJECTS_IN_RANGE) - 1
        name = hashlib.sha256(b"%d" % start).hexdigest()
        count = last + 1 - start
        yield RangeInfo(name, key(start), key(last), count, 98 * count)


def stored(first: int, end: int, folder: str) -> list[RangeInfo]:
    """Returns ranges of objects that are stored, all of one block."""
    start = first // BLOCK * BLOCK
    (batch,) = bench_lookups.batches(first - start, end - start)
    paths = pc.binary_join_element_wise(f"{start // BLOCK:03d}", batch.column("path"), "/")
    moved = batch.set_column(0, "path", paths)
    return write_ranges_arrow(pa.RecordBatchReader.from_batches(moved.schema, [moved]), folder)


def median(work: Callable[[int], object]) -> float:
    """Returns the processor time of work in milliseconds; each round has its number."""
    taken = []
    for number in range(ROUNDS):
        began = time.process_time()
        work(number)
        taken.append(time.process_time() - began)
    return statistics.median(taken) * 1e3


def figures(objects: int, folder: str) -> Iterator[Figure]:
    """Yields what a tree of so many objects costs."""
    middle = objects // 2 // OBJECTS_IN_RANGE * OBJECTS_IN_RANGE
    end = min(objects, middle + OBJECTS_IN_RANGE)
    ranges = [
        *made_up(0, middle),
        *stored(middle, end, folder),
        *made_up(end, objects),
    ]
    yield Figure("ranges", len(ranges), "")

    def opened(name: str) -> Tree:
        return Tables().tree(name, lambda table: f"{folder}/{table}")

    def file_of(name: str) -> float:
        return Path(folder, name).stat().st_size / 1e6

    base_id = write_metarange(ranges, folder)
    yield Figure("size of the list", file_of(base_id), "MB")
    before = own_mib()
    base = opened(base_id)
    base.get(key(middle))
    yield Figure("memory of an open list", own_mib() - before, "MiB")
    yield Figure("open, and one look-up", median(lambda _: opened(base_id).get(key(middle))), "ms")
    yield Figure("a look-up, open", median(lambda n: base.get(key(middle + n))), "ms")

    def page(_: int) -> None:
        listing = base.listing(after=key(middle + 10), amount=1_000)
        listing.feed([], last=True)
        assert listing.object_stats_json("s3://bucket/lake", user_metadata=True)

    yield Figure("page of 1,000", median(page), "ms")
    made: list[str] = []

    def commit(number: int) -> None:
        change = (key(middle + 7 * number), value(number))
        made.append(base.apply([change], folder).metarange_id)

    yield Figure("tree with 1 change", median(commit), "ms")
    yield Figure("of it the list", median(lambda _: write_metarange(ranges, folder)), "ms")
    changed = [opened(name) for name in made]
    for tree in changed:
        tree.get(key(middle))
    yield Figure(
        "difference of 1 change, open",
        median(lambda n: base.diff(changed[n], amount=1_000)),
        "ms",
    )
    yield Figure(
        "difference of 1 change, both opened",
        median(lambda n: opened(base_id).diff(opened(made[n]), amount=1_000)),
        "ms",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    sizes = [10**7, 10**8, 10**9]
    parser.add_argument("--objects", type=int, nargs="+", default=sizes)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, dict[int, list[object]]] = {}
    for objects in options.objects:
        print(f"{objects:,} objects")
        with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder:
            for name, measured, unit in figures(objects, folder):
                print(f"  {name:<40} {measured:>14,.3f} {unit}", flush=True)
                results.setdefault(name, {})[objects] = [round(measured, 5), unit]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
