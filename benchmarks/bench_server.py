"""Benchmarks a server with a folder of its own: processor time per operation, and latency.

    python benchmarks/bench_server.py                     10,000 objects, half a minute
    python benchmarks/bench_server.py --objects 1000000   the size of the goals, some minutes
    python benchmarks/bench_server.py --database postgres

Compare by the server's processor time per operation: other programs hardly change it, but they
change rates and latencies. See README.md.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote

from api_requests import ApiRequests
from dataset import REPOSITORY, create_dataset, object_path
from load import Load
from proc_stats import memory_mib
from report_table import ReportTable
from support.services.postgres import running_cluster

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import Server, running_server

BASE = f"/repositories/{REPOSITORY}"
ONE_KIB = random.Random(0).randbytes(1024)


class Bench:
    """The measurements, each a line of the table."""

    def __init__(self, server: Server, objects: int, seconds: float, database: int | None) -> None:
        self.server = server
        self.load = Load(server.url)
        self.api = ApiRequests(self.load, server.url, server.auth)
        self.table = ReportTable(self.load, server.pid, seconds, database)
        self.objects = objects
        self.random = random.Random(1)
        self.commit = self.api.call("GET", f"{BASE}/branches/main")["commit_id"]
        self.number = 0

    def stat(self, reference: str) -> Callable[[], bytes]:
        """Returns what makes stats of random objects."""

        def make() -> bytes:
            path = quote(object_path(self.random.randrange(self.objects)), safe="")
            return self.api.request("GET", f"{BASE}/refs/{reference}/objects/stat?path={path}")

        return make

    def page(self) -> bytes:
        """Returns a request for a page of 1,000 objects somewhere."""
        after = quote(object_path(self.random.randrange(max(1, self.objects - 1000))), safe="")
        return self.api.request(
            "GET", f"{BASE}/refs/{self.commit}/objects/ls?amount=1000&after={after}"
        )

    def put(self) -> bytes:
        """Returns a request that uploads 1 KiB to a new path."""
        self.number += 1
        return self.api.request(
            "POST", f"{BASE}/branches/puts/objects?path=new/{self.number:09d}", ONE_KIB
        )

    def prepare_reads(self) -> tuple[bytes, bytes]:
        """Returns requests for an object of 1 KiB and for 64 KiB of a larger one."""
        made = self.branch("reads", self.commit)
        for path, content in (("small", ONE_KIB), ("large", 1024 * ONE_KIB)):
            self.load.run(
                lambda path=path, content=content: self.api.request(
                    "POST", f"{BASE}/branches/{made}/objects?path={path}", content
                ),
                in_flight=1,
                count=1,
            )
        at = f"{BASE}/refs/{self.save(made)}/objects?path="
        part = self.api.request("GET", f"{at}large", part="65536-131071")
        return self.api.request("GET", f"{at}small"), part

    def new_branch(self) -> bytes:
        """Returns a request that creates a branch."""
        self.number += 1
        return self.api.request(
            "POST", f"{BASE}/branches", {"name": f"new-{self.number}", "source": self.commit}
        )

    def prepare_log(self, amount: int) -> bytes:
        """Returns a request for the log of so many commits."""
        made = self.branch("log", self.commit)
        for number in range(amount):
            self.api.call(
                "POST",
                f"{BASE}/branches/{made}/commits",
                {"message": f"Commit {number}", "allow_empty": True},
            )
        return self.api.request("GET", f"{BASE}/refs/{made}/commits?amount={amount}")

    def branch(self, name: str, source: str) -> str:
        """Makes a branch with a new name and returns it."""
        self.number += 1
        name = f"{name}-{self.number}"
        self.api.call("POST", f"{BASE}/branches", {"name": name, "source": source})
        return name

    def change(self, branch: str, amount: int, shift: int = 0) -> None:
        """Stages changes of so many objects, spread evenly, on a branch."""
        spread = iter(range(shift, self.objects, max(1, self.objects // amount)))
        self.number += 1
        checksum = f"{self.number:032x}"

        def make() -> bytes:
            path = quote(object_path(next(spread)), safe="")
            body = {
                "physical_address": f"local://{REPOSITORY}/data/changed/{self.number}",
                "checksum": checksum,
                "size_bytes": 1,
            }
            return self.api.request("PUT", f"{BASE}/branches/{branch}/objects?path={path}", body)

        self.load.run(make, in_flight=min(16, amount), count=amount)

    def save(self, branch: str) -> str:
        """Commits a branch and returns the commit's id."""
        made = self.api.call("POST", f"{BASE}/branches/{branch}/commits", {"message": "Change"})
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
            assert len(self.api.call("GET", where)["results"]) == amount

        return step

    def prepare_merge(self, theirs: int, ours: int) -> Callable[[], object]:
        """Returns the merge of so many changes into a branch with so many others."""
        source, destination = self.branch("theirs", self.commit), self.branch("ours", self.commit)
        self.change(source, theirs, shift=1)
        self.change(destination, ours)
        self.save(source)
        self.save(destination)
        return lambda: self.api.call("POST", f"{BASE}/refs/{source}/merge/{destination}", {})

    def run(self) -> None:
        """Measures everything and prints the table."""
        health = self.api.request("GET", "/healthcheck")
        self.table.requests("health check", lambda: health, 16)
        for in_flight in (1, 16):
            self.table.requests("stat at a commit", self.stat(self.commit), in_flight)
            self.table.requests("stat on a branch", self.stat("main"), in_flight)
        whole, part = self.prepare_reads()
        self.table.requests("get of 1 KiB at a commit", lambda: whole, 16)
        self.table.requests("get of 64 KiB of a larger object", lambda: part, 16)
        for name, path in (("repository", BASE), ("branch", f"{BASE}/branches/main")):
            asked = self.api.request("GET", path)
            self.table.requests(f"get a {name}", lambda asked=asked: asked, 16)
        self.table.requests("create a branch", self.new_branch, 8)
        log = self.prepare_log(1000)
        self.table.requests("log of 1,000 commits", lambda: log, 1)
        self.table.requests("page of 1,000 objects", self.page, 1)
        self.api.call("POST", f"{BASE}/branches", {"name": "puts", "source": "main"})
        for in_flight in (1, 16):
            self.table.requests("put 1 KiB", self.put, in_flight)
        self.table.repeated("commit of 1 change", lambda: self.prepare_commit(1))
        self.table.repeated("commit of 1,000 changes, spread", lambda: self.prepare_commit(1000))
        self.table.repeated("difference of 10 changes, spread", lambda: self.prepare_diff(10))
        self.table.repeated("three-way merge, 10 x 1,000", lambda: self.prepare_merge(10, 1000))
        resident, own = memory_mib(self.server.pid)
        print(f"memory: {resident:,.0f} MiB resident, {own:,.0f} MiB of it not mapped files")


@contextmanager
def a_database(kind: str) -> Iterator[tuple[str, int | None]]:
    """Gives the connection string of a new database and the id of its server's process; the empty
    string and None for SQLite's.
    """
    if kind == "sqlite":
        yield "", None
        return
    with running_cluster() as cluster:
        url = cluster.url(cluster.make_database())
        PostgresDatabase(url).migrate()
        yield url, cluster.pid


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each kind of request")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    with (
        a_database(given.database) as (database, process),
        create_dataset(given.objects, database) as folder,
        running_server(folder, workers=given.workers, database=database) as server,
    ):
        Bench(server, given.objects, given.seconds, process).run()


if __name__ == "__main__":
    main()
