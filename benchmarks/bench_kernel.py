"""Benchmarks trees of a million entries: microseconds of CPU (all threads) and of wall time.

The entries resemble those of objects: keys of 50 bytes, incompressible addresses and checksums.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch._kernel import (
    Layer,
    Tables,
    Tree,
    encode_entry,
    write_arrow,
    write_layers,
    write_tree,
)

if TYPE_CHECKING:
    from anabranch._kernel import Value

    Change = tuple[bytes, Value | None]

ENTRIES = 1_000_000


def key(number: int) -> bytes:
    return b"warehouse/events/day=%03d/hour=%02d/part-%07d.parq" % (
        number // 4800,
        number // 200 % 24,
        number,
    )


def value(number: int, generation: int = 0) -> Value:
    checksum = hashlib.md5(b"%d %d" % (number, generation)).hexdigest()  # noqa: S324  as lakeFS
    address = f"data/gk3l{checksum[:16]}/{checksum[12:]}"
    return encode_entry(address, 1, 1_700_000_000 + number, 0, number * 7, checksum, {}, "")


def records() -> Iterator[tuple[bytes, Value]]:
    return ((key(number), value(number)) for number in range(ENTRIES))


def spread(count: int, generation: int, kinds: str) -> list[Change]:
    """Returns changes spread evenly: c changes an entry, a adds one behind it, r removes it."""
    changes: list[Change] = []
    for turn, number in enumerate(range(generation * 37 + 11, ENTRIES, ENTRIES // count)):
        kind = kinds[turn % len(kinds)]
        name = key(number) + (b"+" if kind == "a" else b"")
        changes.append((name, None if kind == "r" else value(number, generation)))
    return changes[:count]


def measure(name: str, unit: str, units: int, call: Callable[[], object], repeat: int = 3) -> None:
    cpu = wall = float("inf")
    for _ in range(repeat):
        begin = time.process_time(), time.perf_counter()
        call()
        cpu = min(cpu, time.process_time() - begin[0])
        wall = min(wall, time.perf_counter() - begin[1])
    rate = f"{units / cpu:12,.0f}" if units > 1 else " " * 12
    per = cpu / units * 1e6, wall / units * 1e6
    print(f"{name:44} {per[0]:12,.2f} {per[1]:12,.2f} {rate}  {unit}")


class Lake:
    """Trees in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.tables = Tables()

    def tree(self, metarange_id: str) -> Tree:
        return self.tables.tree(metarange_id, lambda table_id: f"{self.folder}/{table_id}")

    def applied(self, tree: Tree, changes: list[Change]) -> Tree:
        return self.tree(tree.apply(changes, self.folder).metarange_id)


def measure_reads(tree: Tree) -> None:
    names = [key(number) for number in random.Random(1).sample(range(ENTRIES), 100_000)]
    absent = [name + b"?" for name in names]

    def look_up(names: list[bytes]) -> None:
        for name in names:
            tree.get(name)

    def page(after: bytes) -> bytes:
        listing = tree.listing(after=after, amount=1000)
        listing.feed([], last=True)
        return listing.object_stats_json("s3://bucket/lake", user_metadata=True)

    def common_prefixes() -> None:
        listing = tree.listing(prefix=b"warehouse/events/", delimiter=b"/", amount=1000)
        listing.feed([], last=True)

    measure("get, one call each", "get", len(names), lambda: look_up(names))
    measure("get, of what is not there", "get", len(names), lambda: look_up(absent))
    measure("get_many of 1,000", "get", 1000, lambda: tree.get_many(names[:1000]), 20)
    pages = [names[number] for number in range(100)]
    measure("page of 1,000 as JSON", "page", 100, lambda: [page(after) for after in pages])
    measure("page of 209 common prefixes", "page", 1, common_prefixes, 10)
    measure("scan to Arrow, raw", "entry", ENTRIES, lambda: scan(tree, decoded=False))
    measure("scan to Arrow, decoded", "entry", ENTRIES, lambda: scan(tree, decoded=True))


def scan(tree: Tree, *, decoded: bool) -> None:
    rows = sum(
        batch.num_rows for batch in pa.RecordBatchReader.from_stream(tree.scan(decoded=decoded))
    )
    assert rows == ENTRIES


def measure_writes(tree: Tree) -> None:
    raw, decoded = pa.table(tree.scan(decoded=False)), pa.table(tree.scan())

    def write(table: pa.Table) -> None:
        with tempfile.TemporaryDirectory() as fresh:
            write_arrow(table, fresh)

    measure("write from Arrow, raw", "entry", ENTRIES, lambda: write(raw))
    measure("write from Arrow, decoded", "entry", ENTRIES, lambda: write(decoded))


def measure_changes(lake: Lake, base: Tree) -> None:
    def apply(changes: list[Change]) -> None:
        with tempfile.TemporaryDirectory() as fresh:
            base.apply(changes, fresh)

    def diff(other: Tree) -> None:
        base.diff(other, amount=1000)

    for count in (10, 1000):
        for kinds, name in (("c", "changed"), ("car", "changed, added, removed")):
            changes = spread(count, 1, kinds)
            other = lake.applied(base, changes)
            measure(f"apply {count:,} {name}", "apply", 1, partial(apply, changes))
            measure(f"diff of {count:,} {name}", "diff", 1, partial(diff, other))


def measure_merges(lake: Lake, base: Tree) -> None:
    dest = lake.applied(base, spread(1000, 2, "car"))

    def merge(source: Tree) -> None:
        with tempfile.TemporaryDirectory() as fresh:
            dest.merge(source, base, fresh)

    def compare(source: Tree) -> None:
        dest.compare(source, base, amount=1000)

    for count in (10, 1000):
        source = lake.applied(base, spread(count, 3, "car"))

        name = f"{count:,} into 1,000 others"
        measure(f"merge {name}", "merge", 1, partial(merge, source))
        measure(f"compare {name}", "page", 1, partial(compare, source))

    ours, theirs = (
        lake.applied(base, [(key(n), value(n, side)) for n in range(0, ENTRIES, 20)])
        for side in (4, 5)
    )

    def refuse() -> None:
        with tempfile.TemporaryDirectory() as fresh:
            assert ours.merge(theirs, base, fresh, max_conflicts=100).has_more

    measure("merge refused, 50,000 conflicts, 100 named", "merge", 1, refuse, 10)
    count = partial(ours.merge_counts, theirs, base)
    measure("50,000 conflicts counted", "count", 1, count)


def measure_layers(base: Tree) -> None:
    moved = partial(Layer, base, prefix=b"warehouse/", target=b"lake/", namespace="s3://bucket/a")
    day = b"warehouse/events/day=100/"

    def write(*layers: Layer) -> None:
        with tempfile.TemporaryDirectory() as fresh:
            write_layers(layers, fresh)

    def odd(name: bytes) -> bool:
        return name.endswith(b"7.parq")

    measure("layers: a tree moved", "entry", ENTRIES, lambda: write(moved()))
    measure(
        "layers: two, one over the other", "entry", 2 * ENTRIES, lambda: write(moved(), moved())
    )
    measure(
        "layers: moved, names asked for", "entry", ENTRIES, lambda: write(moved(leave_out=odd)), 1
    )
    measure("layers: taken as it is", "tree", 1, lambda: write(Layer(base)))
    over = Layer(base, prefix=day, target=day, namespace="s3://bucket/b")
    measure("layers: 4,800 over one as it is", "tree", 1, lambda: write(Layer(base), over))


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        lake = Lake(Path(folder))
        print(f"{'':44} {'us of CPU':>12} {'us':>12} {'a second':>12}")
        begin = time.process_time()
        base = lake.tree(write_tree(records(), folder).metarange_id)
        spent = (time.process_time() - begin) / ENTRIES * 1e6
        print(f"{'encode_entry and write_tree, from Python':44} {spent:12,.2f}")
        measure_reads(base)
        measure_changes(lake, base)
        measure_merges(lake, base)
        measure_writes(base)
        measure_layers(base)


if __name__ == "__main__":
    main()
