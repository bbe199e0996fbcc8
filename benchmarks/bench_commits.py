"""Benchmarks commits to a large tree: seconds of time and of CPU, and the peak of memory.

    bench_commits.py [--objects N] [--folder FOLDER] [--rounds N] [--beside SRC]

Builds the tree of `bench_lookups.py` in FOLDER unless it exists (98 bytes an object; the default is
a temporary folder) and applies changes to it: one, 1,000 that are neighbours, and 1,000 spread
over all objects, on all cores and on one. New tables go into a folder beside FOLDER.

With `--beside`, another checkout's `src` does the same in alternating turns, and its tables must be
equal byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench_lookups import build, key

from anabranch._kernel import Tables, encode_entry

if TYPE_CHECKING:
    from anabranch._kernel import Value

    Change = tuple[bytes, Value | None]

CHANGES = 1_000


def value(number: int) -> Value:
    """Returns an entry that the tree does not have."""
    checksum = hashlib.md5(b"%d" % number).hexdigest()  # noqa: S324  as lakeFS
    address = f"data/gk3l{checksum[:16]}/{checksum[12:]}"
    return encode_entry(address, 1, 1_700_000_000 + number, 0, number * 7, checksum, {}, "")


def cases(objects: int) -> Iterator[tuple[str, list[Change]]]:
    """Yields changes by what is measured."""
    middle = objects // 2
    spread = range(11, objects, objects // CHANGES)[:CHANGES]
    yield "one change", [(key(middle), value(middle))]
    yield (
        "1,000 neighbours changed",
        [(key(at), value(at)) for at in range(middle, middle + CHANGES)],
    )
    yield "1,000 changed, spread", [(key(at), value(at)) for at in spread]
    mixed: list[Change] = []
    for turn, at in enumerate(spread):
        kind = turn % 3  # changed, added behind an object, removed
        name = key(at) + (b"+" if kind == 1 else b"")
        mixed.append((name, None if kind == 2 else value(at)))
    yield "1,000 changed, added, removed, spread", mixed


class Measured(NamedTuple):
    """A measurement in a process of its own."""

    wall: float
    cpu: float
    mib: float
    digest: str
    """Of the names and bytes of all tables written."""


def measure(objects: int, folder: str, tree_id: str) -> Iterator[tuple[str, Measured]]:
    """Yields what this process measures."""
    tables = Tables(capacity=1 << 16)
    tree = tables.tree(tree_id, lambda table_id: f"{folder}/{table_id}")
    for info in tree.ranges():
        tree.get(info.min_key)
    for name, changes in cases(objects):
        with tempfile.TemporaryDirectory(dir=Path(folder).parent) as fresh:
            began = time.perf_counter(), time.process_time()
            tree.apply(changes, fresh)
            spent = time.perf_counter() - began[0], time.process_time() - began[1]
            digest = hashlib.sha256()
            for path in sorted(Path(fresh).iterdir()):
                digest.update(path.name.encode() + path.read_bytes())
        mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield name, Measured(*spent, mib, digest.hexdigest())


def run(source: Path, job: list[str], *, one_core: bool) -> dict[str, Measured]:
    """Returns what a process with a checkout's package measures."""
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *job, *(["--one-core"] if one_core else [])],
        env=os.environ | {"PYTHONPATH": str(source.resolve())},
        check=True,
        stdout=subprocess.PIPE,
    )
    return {name: Measured(*values) for name, values in json.loads(done.stdout)}


def compare(sources: dict[str, Path], job: list[str], rounds: int) -> None:
    """Prints the medians of all rounds."""
    print(f"{'':48} {'':7} {'s':>8} {'s of CPU':>9} {'peak MiB':>9} {'time':>6} {'CPU':>6}")
    for one_core in (False, True):
        turns: dict[str, list[dict[str, Measured]]] = {side: [] for side in sources}
        for _ in range(rounds):
            for side, source in sources.items():
                turns[side].append(run(source, job, one_core=one_core))
        for name in turns["here"][0]:
            before = 0.0, 0.0
            digests = {turn[name].digest for side in turns.values() for turn in side}
            assert len(digests) == 1, f"different tables: {name}"
            for side, done in turns.items():
                measured = [turn[name] for turn in done]
                wall = statistics.median(each.wall for each in measured)
                cpu = statistics.median(each.cpu for each in measured)
                mib = statistics.median(each.mib for each in measured)
                before = before if before[0] else (wall, cpu)
                ratios = f"{wall / before[0]:6.2f} {cpu / before[1]:6.2f}"
                label = f"{name}, {'one core' if one_core else 'all cores'}"
                print(f"{label:48} {side:7} {wall:8.4f} {cpu:9.4f} {mib:9.0f} {ratios}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--one-core", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        if options.one_core:
            os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
        objects, folder, tree_id = options.measure
        print(json.dumps(list(measure(int(objects), folder, tree_id))))
        return
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as fresh:
        folder = (options.folder or Path(fresh) / "tree").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        job = [str(options.objects), str(folder), build(options.objects, folder)]
        sources = {"before": options.beside} if options.beside else {}
        compare(sources | {"here": Path(__file__).parents[1] / "src"}, job, options.rounds)


if __name__ == "__main__":
    main()
