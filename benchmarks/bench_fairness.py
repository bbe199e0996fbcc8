"""Benchmarks writers beside busy readers, over REST: requests a second alone and together.

    bench_fairness.py [--seconds N] [--rounds N]

Four uploads of 1 KiB and eight reads of properties are in flight, alone and together, on a server
of this checkout. The clients are processes of their own. Each is to keep half of what it has alone.
On a machine with other work, compare by requests for each second of the server's processor time: of
that, both together have no more than one alone, and writers alone leave some unused while they wait
for the disk, so that their share is understated.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import tempfile
from functools import partial
from typing import NamedTuple

from api_requests import ApiRequests
from dataset import REPOSITORY
from load import Load
from proc_stats import cpu_seconds

from anabranch.testing.server import Server, running_server

WRITERS = 4
READERS = 8
OBJECTS = f"/repositories/{REPOSITORY}/branches/main/objects"


class Client(NamedTuple):
    """A client process: what it does, with so many requests in flight."""

    writes: bool
    in_flight: int


WRITING = [Client(writes=True, in_flight=WRITERS)]
READING = [Client(writes=False, in_flight=READERS // 2)] * 2


def measure(url: str, auth: tuple[str, str], seconds: float, client: Client) -> tuple[float, float]:
    """Returns a client's requests a second, and the median time of one in milliseconds."""
    load = Load(url)
    api = ApiRequests(load, url, auth)
    numbers = itertools.count()

    def upload() -> bytes:
        path = f"new/{os.getpid()}-{next(numbers)}"
        return api.request("POST", f"{OBJECTS}?path={path}", bytes(1024))

    stat = api.request("GET", f"/repositories/{REPOSITORY}/refs/main/objects/stat?path=read")
    make = upload if client.writes else lambda: stat
    done = load.run(make, in_flight=client.in_flight, seconds=seconds)
    return done.count / done.whole, done.at(0.5) * 1e3


class Rates(NamedTuple):
    """Requests a second, and for each second of the server's processor time; the median wait in
    milliseconds.
    """

    per_second: float
    per_cpu: float
    median: float

    def show(self, label: str, alone: Rates | None = None) -> None:
        """Prints a line, with the shares of what the clients have alone."""
        line = f"{label:20} {self.per_second:8.0f} a second, {self.per_cpu:8.0f} a second of CPU"
        if alone:
            line += f", {self.per_second / alone.per_second:.0%} and "
            line += f"{self.per_cpu / alone.per_cpu:.0%} of those"
        print(f"{line}, median {self.median:.2f} ms", flush=True)


def together(server: Server, seconds: float, *groups: list[Client]) -> list[Rates]:
    """Returns what groups of clients measure at the same time."""
    clients = [client for group in groups for client in group]
    with multiprocessing.Pool(len(clients)) as pool:
        before = cpu_seconds(server.pid)
        run = partial(measure, server.url, server.auth, seconds)
        measured = pool.map(run, clients, chunksize=1)
        used = cpu_seconds(server.pid) - before
    rates = []
    for group in groups:
        mine, measured = measured[: len(group)], measured[len(group) :]
        rate = sum(each for each, _ in mine)
        rates.append(Rates(rate, rate * seconds / used, mine[0][1]))
    return rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder, running_server(folder) as server:
            load = Load(server.url)
            api = ApiRequests(load, server.url, server.auth)
            namespace = f"local://{REPOSITORY}"
            api.call("POST", "/repositories", {"name": REPOSITORY, "storage_namespace": namespace})
            api.call("POST", f"{OBJECTS}?path=read", b"x")
            (writes,) = together(server, options.seconds, WRITING)
            writes.show("writes alone")
            (reads,) = together(server, options.seconds, READING)
            reads.show("reads alone")
            beside_reads, beside_writes = together(server, options.seconds, WRITING, READING)
            beside_reads.show("writes beside reads", writes)
            beside_writes.show("reads beside writes", reads)


if __name__ == "__main__":
    main()
