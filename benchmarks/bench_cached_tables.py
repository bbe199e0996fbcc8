"""Benchmarks commits with few and with many files in the folder of cached tables.

    python benchmarks/bench_cached_tables.py [--files N] [--rounds N]

Two lakes use stores in memory: the cache of one is empty at first, that of the other has `--files`
files. They commit one change each in alternating turns, so that other load on the machine slows
both. The goal is a difference of at most 10 %.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.blocks.memory import MemoryBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake

FILE_BYTES = 1_000


@contextmanager
def lake(folder: Path, files: int) -> Iterator[Lake]:
    """Gives a lake with an empty repository, whose cache begins with so many files."""
    cache = folder / "cache"
    cache.mkdir(parents=True)
    for number in range(files):
        name = hashlib.sha256(b"%d" % number).hexdigest()
        (cache / name).write_bytes(bytes(FILE_BYTES))
    with Lake(MemoryStore(), MemoryBlocks(), cache_folder=cache, signing_secret=b"-") as opened:
        opened.repositories.create("sea", "mem://sea")
        yield opened


def commit(lake: Lake, number: int) -> tuple[float, float]:
    """Returns the seconds and the CPU seconds that a commit of one change takes."""
    lake.objects.upload("sea", "main", f"object-{number}", [b"%d" % number])
    begin, cpu = time.perf_counter(), time.process_time()
    lake.commits.commit("sea", "main", message="One", committer="bench")
    return time.perf_counter() - begin, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        with lake(where / "empty", 0) as empty, lake(where / "full", given.files) as full:
            for number in range(1, 6):  # the first counts the files
                commit(empty, -number)
                commit(full, -number)
            taken = [(commit(empty, n), commit(full, n)) for n in range(given.rounds)]
    for index, measure in enumerate(("time", "CPU")):
        before, after = (statistics.median(pair[side][index] for pair in taken) for side in (0, 1))
        print(
            f"commit of one change, {measure}: {before * 1e3:.2f} ms without cached files, "
            f"{after * 1e3:.2f} ms with {given.files:,}, ratio {after / before:.3f}"
        )


if __name__ == "__main__":
    main()
