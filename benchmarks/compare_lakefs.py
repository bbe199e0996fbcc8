"""Compares this checkout's server with a lakeFS on the same machine, in alternating turns.

    python benchmarks/compare_lakefs.py --url http://127.0.0.1:8000 --pid 4104 \\
        --key ACCESS_KEY_ID --secret SECRET_ACCESS_KEY

Start lakeFS yourself, with a local block store on the disk of TMPDIR and a local database. With
`--database-pid`, use PostgreSQL instead: this checkout's server then also uses PostgreSQL, and the
processor time of both databases is included. A machine's speed changes from minute to minute, so
only measurements from the same seconds can be compared. See README.md.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from api_requests import ApiRequests
from bench_s3_server import LARGE, ONE_KIB, cycle
from bench_server import a_database
from dataset import REPOSITORY, create_dataset
from load import Load
from proc_stats import cpu_seconds
from s3_requests import S3Requests

from anabranch.testing.server import running_server

OBJECTS = 500
BRANCH = "puts"
FORM = "{:26} {:>12} {:>10} {:>14} {:>10} {:>8}"


class Operation(NamedTuple):
    """Requests that are alike, and how many of them are under way at once."""

    name: str
    requests: list[bytes]
    in_flight: int


class Target:
    """A server under measurement; `pids` are its first process and its database's."""

    def __init__(self, url: str, auth: tuple[str, str], *pids: int) -> None:
        self.pids = pids
        self.load = Load(url)
        self.s3 = S3Requests(url, auth)
        self.api = ApiRequests(self.load, url, auth)
        self.commit = ""

    def prepare(self) -> None:
        """Makes the repository and puts and commits the objects, unless they are there."""
        if self.load.ask(self.api.request("GET", f"/repositories/{REPOSITORY}"))[0] != 200:
            self.api.call(
                "POST",
                "/repositories",
                {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"},
            )
        branches = f"/repositories/{REPOSITORY}/branches"
        if self.load.ask(self.api.request("GET", f"{branches}/{BRANCH}"))[0] != 200:
            self.api.call("POST", branches, {"name": BRANCH, "source": "main"})
            self.load.run(cycle(self.small("PUT", BRANCH, ONE_KIB)), in_flight=8, count=OBJECTS)
            status, answer = self.load.ask(self.s3.request("PUT", f"{BRANCH}/large", LARGE))
            assert status < 300, answer
            self.api.call("POST", f"{branches}/{BRANCH}/commits", {"message": "objects"})
        self.commit = self.api.call("GET", f"{branches}/{BRANCH}")["commit_id"]

    def small(self, method: str, ref: str, body: bytes = b"") -> list[bytes]:
        """Returns S3's requests about the small objects."""
        return [self.s3.request(method, f"{ref}/small/{i:06d}", body) for i in range(OBJECTS)]

    def stats(self, ref: str) -> list[bytes]:
        """Returns the API's requests about them."""
        path = f"/repositories/{REPOSITORY}/refs/{ref}/objects/stat?path=small%2F"
        return [self.api.request("GET", f"{path}{i:06d}") for i in range(OBJECTS)]

    def operations(self) -> Iterator[Operation]:
        """Yields what is measured."""
        yield Operation("health check", [self.api.request("GET", "/healthcheck")], 16)
        for ref, name in ((self.commit, "commit"), (BRANCH, "branch")):
            yield Operation(f"HEAD, {name}", self.small("HEAD", ref), 16)
            yield Operation(f"GET of 1 KiB, {name}", self.small("GET", ref), 16)
            yield Operation(f"stat, {name}", self.stats(ref), 16)
        yield Operation("HEAD, branch", self.small("HEAD", BRANCH), 1)
        yield Operation("stat, branch", self.stats(BRANCH), 1)
        puts = self.small("PUT", BRANCH, ONE_KIB)
        yield Operation("PUT of 1 KiB", puts, 16)
        yield Operation("PUT of 1 KiB", puts, 1)
        yield Operation("GET of 64 MiB", [self.s3.request("GET", f"{BRANCH}/large")], 1)
        large = self.s3.request("PUT", f"{BRANCH}/large", LARGE, signed_body=False)
        yield Operation("PUT of 64 MiB", [large], 1)


def used(target: Target) -> float:
    """Returns the processor time of a server and its database so far, in seconds."""
    return sum(map(cpu_seconds, target.pids))


def measured(target: Target, operation: Operation, seconds: float) -> tuple[float, float]:
    """Returns the server's processor time for one request and the median wait, in seconds."""
    before = used(target)
    run = target.load.run(cycle(operation.requests), in_flight=operation.in_flight, seconds=seconds)
    return (used(target) - before) / run.count, run.at(0.5)


def main() -> None:
    """Runs the measurements and prints medians over rounds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", required=True, help="where lakeFS is")
    parser.add_argument("--pid", required=True, type=int, help="its process")
    parser.add_argument("--database-pid", type=int, help="its PostgreSQL's first process")
    parser.add_argument("--key", required=True, help="its access key id")
    parser.add_argument("--secret", required=True, help="its secret access key")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with (
        a_database("postgres" if given.database_pid else "sqlite") as (database, process),
        create_dataset(OBJECTS, database) as folder,
        running_server(folder, database=database) as server,
    ):
        ours = Target(server.url, server.auth, *filter(None, (server.pid, process)))
        pids = filter(None, (given.pid, given.database_pid))
        theirs = Target(given.url, (given.key, given.secret), *pids)
        for target in (ours, theirs):
            target.prepare()
        print(FORM.format("", "CPU us here", "p50 ms", "CPU us lakeFS", "p50 ms", "CPU"))
        for mine, other in zip(ours.operations(), theirs.operations(), strict=True):
            rounds = [
                (measured(ours, mine, given.seconds), measured(theirs, other, given.seconds))
                for _ in range(given.rounds)
            ]
            cpu, wait = (statistics.median(r[0][place] for r in rounds) for place in (0, 1))
            cpu_of, wait_of = (statistics.median(r[1][place] for r in rounds) for place in (0, 1))
            print(
                FORM.format(
                    f"{mine.name}, {mine.in_flight} in flight",
                    f"{cpu * 1e6:,.0f}",
                    f"{wait * 1e3:.2f}",
                    f"{cpu_of * 1e6:,.0f}",
                    f"{wait_of * 1e3:.2f}",
                    f"{cpu / cpu_of:.2f}",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
