"""Benchmarks refused merges over REST: CPU and time of a request, and memory of the server alone.

    bench_refused_merges.py [--objects N] [--conflicts N ...]

Both sides change so many objects of a commit differently, spread evenly. A refused merge names its
first 100 conflicts, and a page of conflicts describes them; only a dry run counts all. The best of
ten requests each, three of a dry run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from api_requests import ApiRequests
from dataset import REPOSITORY, create_dataset, object_path
from load import Load
from proc_stats import cpu_seconds, memory_mib

from anabranch import _kernel as kernel
from anabranch.testing.lake import lake_of
from anabranch.testing.server import Server, running_server

if TYPE_CHECKING:
    from anabranch._kernel import Value

NAMED = 100
REFS = f"/repositories/{REPOSITORY}/refs"


def changed(objects: int, conflicts: int, side: str) -> Iterator[tuple[bytes, Value]]:
    """Yields one side's changes."""
    for number in range(0, objects, objects // conflicts):
        checksum = f"{side}{number:031x}"
        value = kernel.encode_entry(checksum, 1, 1_700_000_001, 0, 2048, checksum, {}, "")
        yield object_path(number).encode(), value


def branches(folder: Path, objects: int, amounts: list[int]) -> None:
    """Commits both sides of a merge for each number of conflicts."""
    with lake_of(folder, "") as lake:
        repository = lake.repositories.get(REPOSITORY)
        head = lake.core.references.commit(repository, "main")
        base = lake.core.trees.open(repository, head.metarange_id)
        for amount in amounts:
            for side in "ab":
                name = f"{side}{amount}"
                lake.branches.create(REPOSITORY, name, "main")
                into = lake.core.trees.write_folder(repository)
                written = base.apply(changed(objects, amount, side), into)
                lake.commits.commit(
                    REPOSITORY,
                    name,
                    message="Changes",
                    committer="benchmark",
                    source_metarange=written.metarange_id,
                )


def measure(server: Server, name: str, call: Callable[[], object], times: int) -> None:
    cpu = wall = float("inf")
    for _ in range(times):
        began = cpu_seconds(server.pid), time.perf_counter()
        call()
        cpu = min(cpu, cpu_seconds(server.pid) - began[0])
        wall = min(wall, time.perf_counter() - began[1])
    print(f"{name:52} {cpu * 1e3:10.1f} {wall * 1e3:10.1f} {memory_mib(server.pid)[1]:8.0f}")


def measure_all(server: Server, amounts: list[int]) -> None:
    load = Load(server.url)
    api = ApiRequests(load, server.url, server.auth)
    print(f"{'':52} {'ms of CPU':>10} {'ms':>10} {'own MiB':>8}")
    for amount in amounts:
        where = f"{REFS}/a{amount}/merge/b{amount}"

        def refuse(where: str = where, amount: int = amount) -> None:
            status, answer = load.ask(api.request("POST", where, {}))
            assert status == 409, answer
            assert answer.count(b"data/") >= min(NAMED, amount), answer

        def page(where: str = where) -> None:
            assert len(api.call("GET", f"{where}/conflicts?amount={NAMED}")["results"]) == NAMED

        def count(where: str = where, amount: int = amount) -> None:
            assert api.call("POST", where, {"dry_run": True})["conflict_count"] == amount

        measure(server, f"merge refused, {amount:,} conflicts", refuse, 10)
        measure(server, f"page of {NAMED} of {amount:,} conflicts", page, 10)
        measure(server, f"dry run that counts {amount:,} conflicts", count, 3)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--conflicts", type=int, nargs="*", default=[1_000, 50_000, 1_000_000])
    options = parser.parse_args()
    amounts = [amount for amount in options.conflicts if options.objects % amount == 0]
    with create_dataset(options.objects) as folder:
        branches(folder, options.objects, amounts)
        with running_server(folder) as server:
            measure_all(server, amounts)


if __name__ == "__main__":
    main()
