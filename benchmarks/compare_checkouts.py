"""Compares two checkouts: server processor time per operation, in alternating turns of one run.

    python benchmarks/compare_checkouts.py --before ../before --after .

Each checkout must be built (`make install`, or its kernel copied into `src/anabranch`). Each server
uses its own folder on the disk of TMPDIR. The turns alternate so that both run at the same speed of
the machine. A ratio above 1 means that `--after` uses more. Repeat the run before you rely on a
difference of a few hundredths; more `--rounds` reduce the noise. With `--database postgres` each
server has a PostgreSQL of its own, whose processor time is included.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from api_requests import ApiRequests
from bench_agent_cycles import Cycle
from bench_s3_server import LARGE, ONE_KIB, cycle
from dataset import REPOSITORY
from load import Connection, Load
from proc_stats import cpu_seconds
from s3_requests import S3Requests
from support.services.postgres import running_cluster

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import Server, running_server

OBJECTS = 500
LISTED = 1_000
CHANGES = 1_000
BRANCHES = 1_200
MERGES = 96
BRANCH = f"/repositories/{REPOSITORY}/branches"
FORM = "{:34} {:>12} {:>12} {:>8} {:>16}"


class Operation(NamedTuple):
    """An operation to measure: `turn` performs it for a while and returns how often."""

    name: str
    turn: Callable[[], int]
    prepare: Callable[[], object] = lambda: None


class Target:
    """A checkout's server under measurement."""

    def __init__(self, server: Server, seconds: float, database: int | None) -> None:
        self._processes = [server.pid] if database is None else [server.pid, database]
        self._seconds = seconds
        self._load = Load(server.url)
        self._s3 = S3Requests(server.url, server.auth)
        self._api = ApiRequests(self._load, server.url, server.auth)
        self._number = 0
        self._prepare()

    def cpu_seconds(self) -> float:
        """Returns the processor time that the server and its database have used."""
        return sum(map(cpu_seconds, self._processes))

    def _prepare(self) -> None:
        """Creates the repository and commits the objects that are read."""
        self._api.call(
            "POST",
            "/repositories",
            {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"},
        )
        for name in ("reads", "writes", "commits"):
            self._api.call("POST", BRANCH, {"name": name, "source": "main"})
        self._run(self._objects("PUT", "reads", ONE_KIB), in_flight=8, count=OBJECTS)
        for key in ("reads/large", "writes/large"):
            status, answer = self._load.ask(self._s3.request("PUT", key, LARGE))
            assert status == 200, answer
        self._stage("reads", LISTED)
        made = self._api.call("POST", f"{BRANCH}/reads/commits", {"message": "objects"})
        self._commit_id = str(made["id"])
        body = {"message": "Empty", "allow_empty": True}
        commit = self._api.request("POST", f"{BRANCH}/commits/commits", body)
        self._run([commit], in_flight=8, count=LISTED)
        creations = [
            self._api.request("POST", BRANCH, {"name": f"listed-{number:04d}", "source": "main"})
            for number in range(BRANCHES)
        ]
        self._run(creations, in_flight=8, count=BRANCHES)

    def operations(self) -> Iterator[Operation]:
        """Yields the operations, in the order of measurement."""
        api, s3 = self._api, self._s3
        refs = f"/repositories/{REPOSITORY}/refs/reads/objects"
        yield self._timed("stat", self._read(f"{refs}/stat"))
        yield self._timed("HEAD (REST)", self._read(refs, "HEAD"))
        yield self._timed("HEAD (S3)", self._objects("HEAD", "reads"))
        yield self._timed("GET of 1 KiB (REST)", self._read(refs))
        yield self._timed("GET of 1 KiB (S3)", self._objects("GET", "reads"))
        yield self._timed("PUT of 1 KiB (REST)", self._posts())
        yield self._timed("PUT of 1 KiB (S3)", self._objects("PUT", "writes", ONE_KIB))
        stats = self._read(f"{refs}/stat")
        mixed = [
            request
            for four in zip(stats, stats, stats, self._posts(), strict=True)
            for request in four
        ]
        yield self._timed("3 stats and a PUT, a request", mixed)
        for amount in (1_000, 100):
            log = f"/repositories/{REPOSITORY}/refs/commits/commits?amount={amount}"
            yield self._timed(f"log of {amount:,}", [api.request("GET", log)], in_flight=1)
        branches = api.request("GET", f"{BRANCH}?amount=100")
        yield self._timed("list of 100 branches", [branches], in_flight=4)
        yield self._timed("branch and its deletion, a request", self._branches(), in_flight=1)
        listing = api.request("GET", f"{refs}/ls?amount={LISTED}&prefix=listed%2F")
        yield self._timed("list of 1,000 (REST)", [listing], in_flight=1)
        listing = s3.request("GET", query=f"list-type=2&max-keys={LISTED}&prefix=reads%2Flisted%2F")
        yield self._timed("list of 1,000 (S3)", [listing], in_flight=1)
        yield self._counted("GET of 64 MiB (REST)", [api.request("GET", f"{refs}?path=large")])
        yield self._counted("GET of 64 MiB (S3)", [s3.request("GET", "reads/large")])
        post = api.request("POST", f"{BRANCH}/writes/objects?path=large", LARGE)
        yield self._counted("PUT of 64 MiB (REST)", [post])
        yield self._counted("PUT of 64 MiB (S3)", [s3.request("PUT", "writes/large", LARGE)])
        body = {"message": "Empty", "allow_empty": True}
        post = api.request("POST", f"{BRANCH}/commits/commits", body)
        yield self._timed("commit of nothing", [post], in_flight=1)
        yield Operation("commit of 1,000", self._commit, lambda: self._stage("commits", CHANGES))
        stats = self._read(f"/repositories/{REPOSITORY}/refs/{self._commit_id}/objects/stat")
        for in_flight in (1, 16):
            yield self._timed("stat at a commit", stats, in_flight=in_flight)
        yield Operation("merge into a branch, 16 in flight", self._merge, self._prepare_merges)
        for clients in (1, 32):
            yield Operation(f"agent cycle, {clients} in flight", partial(self._cycles, clients))

    def _read(self, path: str, method: str = "GET") -> list[bytes]:
        """Returns requests of the API about the small objects."""
        return [
            self._api.request(method, f"{path}?path=small%2F{number:06d}")
            for number in range(OBJECTS)
        ]

    def _posts(self) -> list[bytes]:
        """Returns uploads of small objects through the API."""
        path = f"{BRANCH}/writes/objects?path=small%2F"
        return [self._api.request("POST", f"{path}{i:06d}", ONE_KIB) for i in range(OBJECTS)]

    def _branches(self) -> list[bytes]:
        """Returns creations of a branch, each followed by its deletion."""
        create = self._api.request("POST", BRANCH, {"name": "short", "source": "main"})
        return [create, self._api.request("DELETE", f"{BRANCH}/short")]

    def _objects(self, method: str, ref: str, body: bytes = b"") -> list[bytes]:
        """Returns requests of S3 about the small objects."""
        return [self._s3.request(method, f"{ref}/small/{i:06d}", body) for i in range(OBJECTS)]

    def _stage(self, branch: str, amount: int) -> None:
        """Stages entries, each with a new checksum."""
        self._number += 1
        numbers = iter(range(amount))

        def make() -> bytes:
            body = {
                "physical_address": f"local://{REPOSITORY}/data/listed/{self._number}",
                "checksum": f"{self._number:032x}",
                "size_bytes": 1,
            }
            path = f"{BRANCH}/{branch}/objects?path=listed%2F{next(numbers):06d}"
            return self._api.request("PUT", path, body)

        self._load.run(make, in_flight=8, count=amount)

    def _commit(self) -> int:
        request = self._api.request("POST", f"{BRANCH}/commits/commits", {"message": "Change"})
        return self._run([request], in_flight=1, count=1)

    def _prepare_merges(self) -> None:
        """Creates branches with a commit each."""
        self._number += 1
        names = [f"merged-{self._number}-{number}" for number in range(MERGES)]
        create = [
            self._api.request("POST", BRANCH, {"name": name, "source": "main"}) for name in names
        ]
        body = {"message": "Empty", "allow_empty": True}
        commit = [self._api.request("POST", f"{BRANCH}/{name}/commits", body) for name in names]
        for requests in (create, commit):
            self._run(requests, in_flight=8, count=MERGES)
        refs = f"/repositories/{REPOSITORY}/refs"
        body = {"allow_empty": True}
        self._merges = [
            self._api.request("POST", f"{refs}/{name}/merge/commits", body) for name in names
        ]

    def _merge(self) -> int:
        return self._run(self._merges, in_flight=16, count=MERGES)

    def _cycles(self, clients: int) -> int:
        """Has clients repeat the cycle of an agent for a while; returns how often they did."""
        self._number += 1
        deadline = time.perf_counter() + self._seconds
        counts = [0] * clients

        def cycles(client: int) -> None:
            connection = Connection(self._load.address)
            while time.perf_counter() < deadline:
                name = f"agent-{self._number}-{client}-{counts[client]}"
                for request in Cycle(self._api, name).requests():
                    status, answer = connection.ask(request)
                    assert status < 300, answer
                counts[client] += 1
            connection.close()

        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(cycles, range(clients)))
        return sum(counts)

    def _timed(self, name: str, requests: list[bytes], *, in_flight: int = 16) -> Operation:
        make = cycle(requests)
        return Operation(
            f"{name}, {in_flight} in flight",
            lambda: self._load.run(make, in_flight=in_flight, seconds=self._seconds).count,
        )

    def _counted(self, name: str, requests: list[bytes]) -> Operation:
        return Operation(name, lambda: self._run(requests, in_flight=1, count=8))

    def _run(self, requests: list[bytes], *, in_flight: int, count: int) -> int:
        return self._load.run(cycle(requests), in_flight=in_flight, count=count).count


def measure(target: Target, operation: Operation) -> float:
    """Returns the server's processor time for one operation of a turn, in seconds."""
    operation.prepare()
    before = target.cpu_seconds()
    count = operation.turn()
    return (target.cpu_seconds() - before) / count


def compare(
    before: tuple[Target, Operation], after: tuple[Target, Operation], rounds: int
) -> tuple[float, float, list[float]]:
    """Returns the median processor times and the ratio of each round; who goes first alternates."""
    pairs = []
    for number in range(rounds + 1):
        order = (before, after) if number % 2 else (after, before)
        times = {side: measure(*side) for side in order}
        pairs.append((times[before], times[after]))
    pairs = pairs[1:]  # the first round warms both up
    ratios = sorted(late / early if early else 1.0 for early, late in pairs)
    first, second = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    return first, second, ratios


def target_of(
    checkout: Path, folder: Path, stack: ExitStack, *, seconds: float, database: str
) -> Target:
    """Starts the server of a checkout. Raises SystemExit for one that is not built."""
    source = checkout.resolve() / "src"
    if not list((source / "anabranch").glob("_kernel*.so")):
        raise SystemExit(f"{checkout} has no kernel: run `make install` there")
    url, process = "", None
    if database == "postgres":
        cluster = stack.enter_context(running_cluster())
        url, process = cluster.url(cluster.make_database()), cluster.pid
        PostgresDatabase(url).migrate()
    server = stack.enter_context(running_server(folder, source=source, database=url))
    return Target(server, seconds, process)


def main() -> None:
    """Runs the comparison and prints a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, required=True, help="the checkout to compare with")
    parser.add_argument("--after", type=Path, default=Path(), help="the checkout to judge")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each turn")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each checkout")
    parser.add_argument("--only", default="", help="measure operations whose names hold this")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    with ExitStack() as stack:
        targets = []
        for checkout in (given.before, given.after):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="anabranch-")))
            options = {"seconds": given.seconds, "database": given.database}
            targets.append(target_of(checkout, folder, stack, **options))
        print(
            FORM.format("server CPU per operation", "before us", "after us", "ratio", "quartiles")
        )
        for pair in zip(*(target.operations() for target in targets), strict=True):
            if given.only not in pair[0].name:
                continue
            before, after = zip(targets, pair, strict=True)
            first, second, ratios = compare(before, after, given.rounds)
            quarter = len(ratios) // 4
            print(
                FORM.format(
                    pair[0].name,
                    f"{first * 1e6:,.0f}",
                    f"{second * 1e6:,.0f}",
                    f"{statistics.median(ratios):.3f}",
                    f"{ratios[quarter]:.2f} - {ratios[-1 - quarter]:.2f}",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
