"""Benchmarks writers beside busy readers, over REST: requests a second alone and together.

    bench_fairness.py [--seconds N] [--rounds N]

Four uploads of 1 KiB and eight reads of properties are in flight, alone and together, on a server
of this checkout. The clients are processes of their own. Each is to keep half of what it has alone.
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


def together(server: Server, seconds: float, clients: list[Client]) -> list[tuple[float, float]]:
    """Returns what several clients measure at the same time."""
    with multiprocessing.Pool(len(clients)) as pool:
        return pool.map(partial(measure, server.url, server.auth, seconds), clients, chunksize=1)


def show(label: str, rates: list[tuple[float, float]], alone: float = 0.0) -> float:
    """Prints the sum of the rates, and returns it."""
    rate = sum(each for each, _ in rates)
    share = f"{rate / alone:6.0%} of that" if alone else ""
    print(f"{label:20} {rate:8.0f} a second, median {rates[0][1]:6.2f} ms {share}", flush=True)
    return rate


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
            writes = show("writes alone", together(server, options.seconds, WRITING))
            reads = show("reads alone", together(server, options.seconds, READING))
            both = together(server, options.seconds, [*WRITING, *READING])
            show("writes beside reads", both[:1], writes)
            show("reads beside writes", both[1:], reads)


if __name__ == "__main__":
    main()
