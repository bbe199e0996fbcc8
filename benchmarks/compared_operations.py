"""The operations that comparisons of two servers measure: on lakeFS, or on another checkout.

`Target` makes the same repository on either server through its API, so that both have the same
objects, commits and branches, and gives each operation as something that a turn repeats. What few
operations need is made before the first of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeAlias

from api_requests import ApiRequests
from bench_agent_cycles import Cycle
from bench_s3_server import LARGE, ONE_KIB, cycle
from dataset import REPOSITORY
from load import Connection, Load, Measured
from proc_stats import cpu_seconds
from s3_requests import S3Requests

__all__ = [
    "IMPORTED",
    "Operation",
    "Round",
    "Side",
    "Target",
    "alternating_rounds",
    "chosen",
    "imported_name",
]

OBJECTS = 500
LISTED = 1_000
IMPORTED = 500
CHANGES = 1_000
BRANCHES = 1_200
MERGES = 96
BRANCH = f"/repositories/{REPOSITORY}/branches"
REFS = f"/repositories/{REPOSITORY}/refs"
_BUSY = {409, 423}
"""What lakeFS answers if others have changed a branch too often: the client is to ask again."""


class Operation(NamedTuple):
    """An operation to measure: `turn` performs it for a while, after `prepare`, which is not
    measured.
    """

    name: str
    turn: Callable[[], Measured]
    prepare: Callable[[], object] = lambda: None


class Target:
    """A server under measurement, at `url`, with its administrator's key pair.

    `processes` are its first one and those of its database; each turn takes `seconds`. `imported`
    is a folder with files, which the server may import.
    """

    def __init__(
        self,
        url: str,
        auth: tuple[str, str],
        processes: Sequence[int],
        *,
        seconds: float,
        imported: Path,
    ) -> None:
        self._processes = processes
        self._seconds = seconds
        self._load = Load(url)
        self._s3 = S3Requests(url, auth)
        self._api = ApiRequests(self._load, url, auth)
        self._numbers = count()
        self._imported = imported
        self._present: set[Callable[[], None]] = set()
        self._prepare()

    def cpu_seconds(self) -> float:
        """Returns the processor time that the server and its database have used."""
        return sum(map(cpu_seconds, self._processes))

    def _prepare(self) -> None:
        """Creates the repository and commits the small objects that are read."""
        namespace = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        self._api.call("POST", "/repositories", namespace)
        for name in ("reads", "large", "writes", "commits", "imported"):
            self._api.call("POST", BRANCH, {"name": name, "source": "main"})
        self._run(self._objects("PUT", "reads", ONE_KIB), in_flight=8, count=OBJECTS)
        self._stage("reads", LISTED)
        made = self._api.call("POST", f"{BRANCH}/reads/commits", {"message": "objects"})
        self._commit_id = str(made["id"])

    def _large_object(self) -> None:
        status, answer = self._load.ask(self._s3.request("PUT", "large/large", LARGE))
        assert status in {200, 201}, answer
        self._api.call("POST", f"{BRANCH}/large/commits", {"message": "large"})

    def _long_log(self) -> None:
        body = {"message": "Empty", "allow_empty": True}
        commit = self._api.request("POST", f"{BRANCH}/commits/commits", body)
        self._run([commit], in_flight=1, count=LISTED)

    def _many_branches(self) -> None:
        creations = [
            self._api.request("POST", BRANCH, {"name": f"listed-{number:04d}", "source": "main"})
            for number in range(BRANCHES)
        ]
        self._run(creations, in_flight=8, count=BRANCHES)

    def _import(self) -> None:
        """Imports the files of the folder, and waits until this has ended."""
        path = {
            "path": f"local://{self._imported}",
            "destination": "files/",
            "type": "common_prefix",
        }
        where = f"{BRANCH}/imported/import"
        body = {"paths": [path], "commit": {"message": "Import"}}
        number = self._api.call("POST", where, body)["id"]
        while not (state := self._api.call("GET", f"{where}?id={number}"))["completed"]:
            assert "error" not in state, state
            time.sleep(0.05)
        assert state["ingested_objects"] == IMPORTED, state

    def operations(self) -> Iterator[Operation]:
        """Yields the operations, in the order of measurement."""
        yield self._timed("health check", [self._api.request("GET", "/healthcheck")])
        yield from self._reads()
        yield from self._writes()
        yield from self._references()
        yield from self._changes()

    def _reads(self) -> Iterator[Operation]:
        api, s3 = self._api, self._s3
        objects = f"{REFS}/reads/objects"
        at_commit = self._read(f"{REFS}/{self._commit_id}/objects/stat")
        for in_flight in (1, 16):
            yield self._timed("stat at a commit", at_commit, in_flight=in_flight)
        for in_flight in (1, 16):
            yield self._timed("stat", self._read(f"{objects}/stat"), in_flight=in_flight)
        yield self._timed("HEAD (REST)", self._read(objects, "HEAD"))
        yield self._timed("HEAD (S3)", self._objects("HEAD", "reads"))
        keys = [f"imported/files/{imported_name(number)}" for number in range(IMPORTED)]
        heads = [s3.request("HEAD", key) for key in keys]
        yield self._timed("HEAD of an imported file (S3)", heads, needs=self._import)
        yield self._timed("GET of 1 KiB (REST)", self._read(objects))
        yield self._timed("GET of 1 KiB (S3)", self._objects("GET", "reads"))
        listing = api.request("GET", f"{objects}/ls?amount={LISTED}&prefix=listed%2F")
        yield self._timed("list of 1,000 (REST)", [listing], in_flight=1)
        listing = s3.request("GET", query=f"list-type=2&max-keys={LISTED}&prefix=reads%2Flisted%2F")
        yield self._timed("list of 1,000 (S3)", [listing], in_flight=1)
        whole = f"{REFS}/large/objects?path=large"
        part = f"{32 << 20}-{(32 << 20) + (64 << 10) - 1}"
        for name, get in (
            ("REST", lambda part="": api.request("GET", whole, part=part)),
            ("S3", lambda part="": s3.request("GET", "large/large", part=part)),
        ):
            needs = self._large_object
            yield self._timed(f"64 KiB of a larger object ({name})", [get(part)], needs=needs)
            yield self._counted(f"GET of 64 MiB ({name})", [get()], needs=needs)

    def _writes(self) -> Iterator[Operation]:
        api, s3 = self._api, self._s3
        yield self._timed("PUT of 1 KiB (REST)", self._posts())
        puts = self._objects("PUT", "writes", ONE_KIB)
        for in_flight in (1, 16):
            yield self._timed("PUT of 1 KiB (S3)", puts, in_flight=in_flight)
        stats = self._read(f"{REFS}/reads/objects/stat")
        groups = zip(stats, stats, stats, self._posts(), strict=True)
        mixed = [request for group in groups for request in group]
        yield self._timed("3 stats and a PUT, a request", mixed)
        post = api.request("POST", f"{BRANCH}/writes/objects?path=large", LARGE)
        yield self._counted("PUT of 64 MiB (REST)", [post])
        yield self._counted("PUT of 64 MiB (S3)", [s3.request("PUT", "writes/large", LARGE)])

    def _references(self) -> Iterator[Operation]:
        api = self._api
        for amount in (1_000, 100):
            log = api.request("GET", f"{REFS}/commits/commits?amount={amount}")
            needs = self._long_log
            yield self._timed(f"log of {amount:,}", [log], in_flight=1, needs=needs)
        branches = api.request("GET", f"{BRANCH}?amount=100&prefix=listed-")
        needs = self._many_branches
        yield self._timed("list of 100 branches", [branches], in_flight=4, needs=needs)
        yield self._made("new branch", BRANCH, {"source": "main"}, "name")
        yield self._made("new tag", f"/repositories/{REPOSITORY}/tags", {"ref": "main"}, "id")
        yield self._timed("branch and its deletion, a request", self._branches(), in_flight=1)

    def _changes(self) -> Iterator[Operation]:
        body = {"message": "Empty", "allow_empty": True}
        post = self._api.request("POST", f"{BRANCH}/commits/commits", body)
        yield self._timed("commit of nothing", [post], in_flight=1)
        yield Operation("commit of 1,000", self._commit, lambda: self._stage("commits", CHANGES))
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

    def _made(self, name: str, path: str, body: dict[str, str], key: str) -> Operation:
        """Returns the creation of references, each with a name of its own."""

        def turn() -> Measured:
            def make() -> bytes:
                number = next(self._numbers)
                return self._api.request("POST", path, {**body, key: f"made-{number:09d}"})

            return self._load.run(make, in_flight=8, seconds=self._seconds)

        return Operation(f"{name}, 8 in flight", turn)

    def _stage(self, branch: str, amount: int) -> None:
        """Stages entries, each with a new checksum."""
        turn = next(self._numbers)
        numbers = iter(range(amount))

        def make() -> bytes:
            body = {
                "physical_address": f"local://{self._imported}/listed/{turn}",
                "checksum": f"{turn:032x}",
                "size_bytes": 1,
            }
            path = f"{BRANCH}/{branch}/objects?path=listed%2F{next(numbers):06d}"
            return self._api.request("PUT", path, body)

        self._load.run(make, in_flight=8, count=amount)

    def _commit(self) -> Measured:
        request = self._api.request("POST", f"{BRANCH}/commits/commits", {"message": "Change"})
        return self._run([request], in_flight=1, count=1)

    def _prepare_merges(self) -> None:
        """Creates branches with a commit each."""
        turn = next(self._numbers)
        names = [f"merged-{turn}-{number}" for number in range(MERGES)]
        create = [
            self._api.request("POST", BRANCH, {"name": name, "source": "main"}) for name in names
        ]
        body = {"message": "Empty", "allow_empty": True}
        commit = [self._api.request("POST", f"{BRANCH}/{name}/commits", body) for name in names]
        for requests in (create, commit):
            self._run(requests, in_flight=8, count=MERGES)
        merge = {"allow_empty": True}
        self._merges = [
            self._api.request("POST", f"{REFS}/{name}/merge/commits", merge) for name in names
        ]

    def _merge(self) -> Measured:
        return self._asked([[request] for request in self._merges], clients=16)

    def _cycles(self, clients: int) -> Measured:
        """Has clients repeat the cycle of an agent for a while."""
        turn = next(self._numbers)
        deadline = time.perf_counter() + self._seconds

        def cycles(client: int) -> Iterator[list[bytes]]:
            for number in count():
                if time.perf_counter() >= deadline:
                    return
                yield Cycle(self._api, f"agent-{turn}-{client}-{number}").requests()

        return self._asked_by([cycles(client) for client in range(clients)])

    def _asked(self, groups: list[list[bytes]], *, clients: int) -> Measured:
        """Has clients make groups of requests, divided among them."""
        return self._asked_by([iter(groups[client::clients]) for client in range(clients)])

    def _asked_by(self, clients: Sequence[Iterator[list[bytes]]]) -> Measured:
        """Has each client make its groups of requests, and again those that find a branch busy;
        returns how long each group took.
        """

        def ask(groups: Iterator[list[bytes]]) -> list[float]:
            connection = Connection(self._load.address)
            took = []
            for requests in groups:
                began = time.perf_counter()
                for request in requests:
                    while (answer := connection.ask(request))[0] in _BUSY:
                        time.sleep(0.005)
                    assert answer[0] < 300, answer
                took.append(time.perf_counter() - began)
            connection.close()
            return took

        began = time.perf_counter()
        with ThreadPoolExecutor(len(clients)) as pool:
            took = [seconds for each in pool.map(ask, clients) for seconds in each]
        return Measured(sorted(took), time.perf_counter() - began)

    def _timed(
        self,
        name: str,
        requests: list[bytes],
        *,
        in_flight: int = 16,
        needs: Callable[[], None] | None = None,
    ) -> Operation:
        make = cycle(requests)
        return Operation(
            f"{name}, {in_flight} in flight",
            lambda: self._load.run(make, in_flight=in_flight, seconds=self._seconds),
            partial(self._make, needs),
        )

    def _counted(
        self, name: str, requests: list[bytes], *, needs: Callable[[], None] | None = None
    ) -> Operation:
        turn = partial(self._run, requests, in_flight=1, count=8)
        return Operation(name, turn, partial(self._make, needs))

    def _make(self, needed: Callable[[], None] | None) -> None:
        """Makes what an operation needs, once."""
        if needed is not None and needed not in self._present:
            self._present.add(needed)
            needed()

    def _run(self, requests: list[bytes], *, in_flight: int, count: int) -> Measured:
        return self._load.run(cycle(requests), in_flight=in_flight, count=count)


def imported_name(number: int) -> str:
    """Returns the path of an imported file in its folder: three folders deep, as exports are."""
    return f"year=2026/month={number % 10:02d}/day={number // 50:02d}/part-{number:05d}"


Side: TypeAlias = tuple[Target, Operation]
"""A server, and an operation on it."""


class Round(NamedTuple):
    """For one operation of a turn, the server's processor time and the median wait, in seconds, on
    each of two servers.
    """

    cpu: float
    wait: float
    other_cpu: float
    other_wait: float


def chosen(one: Target, other: Target, only: Sequence[str] | None) -> Iterator[tuple[Side, Side]]:
    """Yields each operation on both servers: those whose names hold one of the words, or all."""
    for first, second in zip(one.operations(), other.operations(), strict=True):
        if not only or any(words in first.name for words in only):
            yield (one, first), (other, second)


def alternating_rounds(one: Side, other: Side, rounds: int) -> list[Round]:
    """Measures an operation on both servers, each first in every second round. One more round
    before these warms them up.
    """
    measured = []
    for number in range(rounds + 1):
        order = (one, other) if number % 2 else (other, one)
        times = {side: _measure(*side) for side in order}
        measured.append(Round(*times[one], *times[other]))
    return measured[1:]


def _measure(target: Target, operation: Operation) -> tuple[float, float]:
    operation.prepare()
    before = target.cpu_seconds()
    turn = operation.turn()
    return (target.cpu_seconds() - before) / turn.count, turn.at(0.5)
