"""Benchmarks a branch with many staged deletions: pages before and after its tree is built, what it
takes to stage and to commit them, and the memory.

Fills a lake in a folder (references in SQLite) with N objects (the default is 1,000,000) in one
commit, and deletes all but the last, 1,000 at a time. Then it lists the first page, which has one
object. Memory is the peak of the process in each step without mapped files, sampled every 20 ms.

With `--without-trees` no tree is built.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench_rename import path, rows

from anabranch import _kernel as kernel
from anabranch.library import Lake, open_lake

PAGES = 20
BATCH = 1_000


def anonymous_mib() -> float:
    """Returns the anonymous memory that this process has now, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024


def measured(label: str, work: Callable[[], object]) -> None:
    """Does a piece of work, and prints what it took."""
    samples = [anonymous_mib()]
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(0.02):
            samples.append(anonymous_mib())

    sampler = threading.Thread(target=sample)
    sampler.start()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ended.set()
    sampler.join()
    print(f"{label:40} {wall:9.4f} s {cpu:9.4f} s of CPU {max(samples):6.0f} MiB", flush=True)


def fill(lake: Lake, objects: int) -> None:
    """Commits objects that have no bytes: only their entries are read."""
    lake.repositories.create("sea")
    repository = lake.core.repositories.get("sea")
    folder = lake.core.trees.write_folder(repository)
    written = kernel.write_tree(rows(objects), folder)
    lake.core.trees.adopt(repository, folder, written)
    lake.commits.commit("sea", "main", message="m", source_metarange=written.metarange_id)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--lake", type=Path)
    parser.add_argument("--without-trees", action="store_true")
    options = parser.parse_args()
    objects: int = options.objects
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-bench-") as fresh,
        open_lake(options.lake or fresh, committer="bench") as lake,
    ):
        if options.without_trees:
            lake.core.sealed_trees.close()
        measured(f"commit of {objects:,} objects", lambda: fill(lake, objects))
        repository = lake.core.repositories.get("sea")

        def delete() -> None:
            for first in range(0, objects - 1, BATCH):
                last = min(first + BATCH, objects - 1)
                lake.objects.delete_many("sea", "main", [path(n) for n in range(first, last)])

        def page() -> None:
            ((key, _),) = lake.core.objects.listing(repository, "main", amount=100).rows()
            assert key == path(objects - 1).encode()

        measured(f"{objects - 1:,} deletions staged", delete)
        measured("the first page", page)
        time.sleep(0 if options.without_trees else 3)  # the thread that builds looks twice a second
        times = []
        for _ in range(PAGES):
            began = time.process_time()
            page()
            times.append(time.process_time() - began)
        print(
            f"{'median of pages from then on':40} {'':11} {statistics.median(times):9.6f} s of CPU"
        )
        measured("commit", lambda: lake.commits.commit("sea", "main", message="m"))
        measured("a page of the commit", page)


if __name__ == "__main__":
    main()
