"""Benchmarks a server over a folder of its own: processor time per operation, and latency.

    python benchmarks/bench_server.py                     10,000 objects, half a minute
    python benchmarks/bench_server.py --objects 1000000   what the aims are about, some minutes

The processor time of the server's processes for each operation is the figure to compare by: it
hardly moves when other programs are at work. Rates and latencies do. See README.md beside this.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from load import Load, Measured
from usage import cpu_seconds, memory_mib

import anabranch
from anabranch import _kernel as kernel
from anabranch.testing.server import Server, running_server

REPOSITORY = "benchmark"
BASE = f"/repositories/{REPOSITORY}"
ONE_KIB = random.Random(0).randbytes(1024)
REPETITIONS = 5


def path_of(number: int) -> str:
    """Returns an object's path: 1,000 objects in a folder, 100 folders in one above."""
    folder, leaf = number // 100_000, number // 1000 % 100
    return f"data/{folder:02d}/{leaf:03d}/object-{number:08d}.parquet"


def fill(folder: Path, objects: int) -> None:
    """Commits so many objects to the branch `main`, through the library."""
    with anabranch.open(folder) as lake:
        repository = lake.repositories.create(REPOSITORY, f"local://{REPOSITORY}")
        records = (
            (
                path_of(number).encode(),
                kernel.encode_entry(
                    f"data/g000000000000000000/{number:020d}",
                    1,
                    1_700_000_000,
                    0,
                    1024,
                    f"{number:032x}",
                    {},
                    "application/octet-stream",
                ),
            )
            for number in range(objects)
        )
        written = kernel.write_tree(records, lake.core.trees.write_folder(repository))
        lake.commits.commit(
            REPOSITORY,
            "main",
            message="All objects",
            committer="benchmark",
            source_metarange=written.metarange_id,
        )


class Bench:
    """The measurements, each a line of the table."""

    def __init__(self, server: Server, objects: int, seconds: float) -> None:
        self.server = server
        self.load = Load(server.url, server.auth)
        self.objects = objects
        self.seconds = seconds
        self.random = random.Random(1)
        self.commit = self.load.call("GET", f"{BASE}/branches/main")["commit_id"]
        self.number = 0

    def measure(self, name: str, run: Callable[[], Measured]) -> None:
        """Prints a line: processor time and latency of what `run` does."""
        before = cpu_seconds(self.server.pid)
        measured = run()
        time.sleep(0.05)
        used = cpu_seconds(self.server.pid) - before
        p50, p99 = measured.at(0.5) * 1e3, measured.at(0.99) * 1e3
        rate = measured.count / measured.whole
        per_operation = used / measured.count * 1e6
        print(
            f"{name:<46} {per_operation:>11,.0f} {p50:>9,.2f} {p99:>9,.2f} {rate:>9,.1f}",
            flush=True,
        )

    def requests(self, name: str, make: Callable[[], bytes], in_flight: int) -> None:
        """Measures single requests."""
        self.load.run(make, in_flight=in_flight, count=20)
        title = f"{name}, {in_flight} in flight"
        self.measure(title, lambda: self.load.run(make, in_flight=in_flight, seconds=self.seconds))

    def repeated(self, name: str, prepare: Callable[[], Callable[[], object]]) -> None:
        """Measures something large some times over, each time prepared anew and not measured."""
        seconds, used = [], 0.0
        for _ in range(REPETITIONS):
            step = prepare()
            before, began = cpu_seconds(self.server.pid), time.perf_counter()
            step()
            seconds.append(time.perf_counter() - began)
            used += cpu_seconds(self.server.pid) - before
        seconds.sort()
        p50, worst = seconds[len(seconds) // 2] * 1e3, seconds[-1] * 1e3
        per_operation = used / REPETITIONS * 1e6
        rate = REPETITIONS / sum(seconds)
        print(
            f"{name:<46} {per_operation:>11,.0f} {p50:>9,.2f} {worst:>9,.2f} {rate:>9,.1f}",
            flush=True,
        )

    def stat(self, reference: str) -> Callable[[], bytes]:
        """Returns what makes stats of random objects."""

        def make() -> bytes:
            path = quote(path_of(self.random.randrange(self.objects)), safe="")
            return self.load.request("GET", f"{BASE}/refs/{reference}/objects/stat?path={path}")

        return make

    def page(self) -> bytes:
        """Returns a request for a page of 1,000 objects somewhere."""
        after = quote(path_of(self.random.randrange(max(1, self.objects - 1000))), safe="")
        return self.load.request(
            "GET", f"{BASE}/refs/{self.commit}/objects/ls?amount=1000&after={after}"
        )

    def put(self) -> bytes:
        """Returns a request that uploads 1 KiB to a new path."""
        self.number += 1
        return self.load.request(
            "POST", f"{BASE}/branches/puts/objects?path=new/{self.number:09d}", ONE_KIB
        )

    def branch(self, name: str, source: str) -> str:
        """Makes a branch with a new name and returns it."""
        self.number += 1
        name = f"{name}-{self.number}"
        self.load.call("POST", f"{BASE}/branches", {"name": name, "source": source})
        return name

    def change(self, branch: str, amount: int, shift: int = 0) -> None:
        """Stages changes of so many objects, spread evenly, on a branch."""
        spread = iter(range(shift, self.objects, max(1, self.objects // amount)))
        self.number += 1
        checksum = f"{self.number:032x}"

        def make() -> bytes:
            path = quote(path_of(next(spread)), safe="")
            body = {
                "physical_address": f"local://{REPOSITORY}/data/changed/{self.number}",
                "checksum": checksum,
                "size_bytes": 1,
            }
            return self.load.request("PUT", f"{BASE}/branches/{branch}/objects?path={path}", body)

        self.load.run(make, in_flight=min(16, amount), count=amount)

    def save(self, branch: str) -> str:
        """Commits a branch and returns the commit's id."""
        made = self.load.call("POST", f"{BASE}/branches/{branch}/commits", {"message": "Change"})
        return str(made["id"])

    def prepare_commit(self, amount: int) -> Callable[[], object]:
        """Returns the commit of so many changes."""
        branch = self.branch("commit", self.commit)
        self.change(branch, amount)
        return lambda: self.save(branch)

    def prepare_diff(self, amount: int) -> Callable[[], object]:
        """Returns the difference of so many changes."""
        branch = self.branch("diff", self.commit)
        self.change(branch, amount)
        commit = self.save(branch)

        def step() -> None:
            where = f"{BASE}/refs/{self.commit}/diff/{commit}?type=two_dot&amount=1000"
            assert len(self.load.call("GET", where)["results"]) == amount

        return step

    def prepare_merge(self, theirs: int, ours: int) -> Callable[[], object]:
        """Returns the merge of so many changes into a branch with so many others."""
        source, destination = self.branch("theirs", self.commit), self.branch("ours", self.commit)
        self.change(source, theirs, shift=1)
        self.change(destination, ours)
        self.save(source)
        self.save(destination)
        return lambda: self.load.call("POST", f"{BASE}/refs/{source}/merge/{destination}", {})

    def run(self) -> None:
        """Measures everything and prints the table."""
        print(f"{'':<46} {'CPU us/op':>11} {'p50 ms':>9} {'p99 ms':>9} {'op/s':>9}")
        health = self.load.request("GET", "/healthcheck")
        self.requests("health check", lambda: health, 16)
        for in_flight in (1, 16):
            self.requests("stat at a commit", self.stat(self.commit), in_flight)
            self.requests("stat on a branch", self.stat("main"), in_flight)
        self.requests("page of 1,000 objects", self.page, 1)
        self.load.call("POST", f"{BASE}/branches", {"name": "puts", "source": "main"})
        for in_flight in (1, 16):
            self.requests("put 1 KiB", self.put, in_flight)
        self.repeated("commit of 1 change", lambda: self.prepare_commit(1))
        self.repeated("commit of 1,000 changes, spread", lambda: self.prepare_commit(1000))
        self.repeated("difference of 10 changes, spread", lambda: self.prepare_diff(10))
        self.repeated("three-way merge, 10 x 1,000", lambda: self.prepare_merge(10, 1000))
        resident, own = memory_mib(self.server.pid)
        print(f"memory: {resident:,.0f} MiB resident, {own:,.0f} MiB of it not mapped files")


@contextmanager
def filled_folder(objects: int) -> Iterator[Path]:
    """Gives a folder with so many objects in it, and removes it afterwards."""
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as folder:
        began = time.perf_counter()
        fill(Path(folder), objects)
        print(f"{objects:,} objects committed in {time.perf_counter() - began:.1f} s")
        yield Path(folder)


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each kind of request")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    given = parser.parse_args()
    with (
        filled_folder(given.objects) as folder,
        running_server(folder, workers=given.workers) as server,
    ):
        Bench(server, given.objects, given.seconds).run()


if __name__ == "__main__":
    main()
