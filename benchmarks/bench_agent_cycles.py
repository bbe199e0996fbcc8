"""Benchmarks the work of programs that change a lake: whole cycles, over REST.

    bench_agent_cycles.py [--clients N ...] [--seconds S] [--objects N]

A cycle creates a branch of `main`, writes an object of 1 KiB to it, asks for its difference,
commits, merges the branch into `main` and deletes it: six requests. `main` has `--objects` objects.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from functools import partial
from typing import NamedTuple

from api_requests import ApiRequests
from dataset import REPOSITORY
from load import Connection, Load
from proc_stats import cpu_seconds

from anabranch.testing.server import running_server

PROCESSES = 2
BRANCHES = f"/repositories/{REPOSITORY}/branches"
REFS = f"/repositories/{REPOSITORY}/refs"


class Cycle(NamedTuple):
    """The requests of a cycle on a branch of this name."""

    api: ApiRequests
    name: str

    def requests(self) -> list[bytes]:
        """Returns the requests, in their order."""
        request, name = self.api.request, self.name
        return [
            request("POST", BRANCHES, {"name": name, "source": "main"}),
            request("POST", f"{BRANCHES}/{name}/objects?path=out/{name}", os.urandom(1024)),
            request("GET", f"{BRANCHES}/{name}/diff"),
            request("POST", f"{BRANCHES}/{name}/commits", {"message": name}),
            request("POST", f"{REFS}/{name}/merge/main", {}),
            request("DELETE", f"{BRANCHES}/{name}"),
        ]


def work(url: str, auth: tuple[str, str], seconds: float, clients: int) -> list[list[float]]:
    """Returns the seconds of each request of each cycle of so many clients."""
    load = Load(url)
    api = ApiRequests(load, url, auth)
    address = load.address
    took: list[list[float]] = []
    deadline = time.perf_counter() + seconds

    def cycles(client: int) -> None:
        connection = Connection(address)
        number = 0
        while time.perf_counter() < deadline:
            number += 1
            times = []
            for request in Cycle(api, f"b{os.getpid()}-{client}-{number}").requests():
                began = time.perf_counter()
                status, answer = connection.ask(request)
                times.append(time.perf_counter() - began)
                assert status < 300, (request[:200], status, answer)
            took.append(times)
        connection.close()

    threads = [threading.Thread(target=cycles, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def main() -> None:
    """Runs the cycles and prints a line for each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--objects", type=int, default=1000, help="of main, before")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(folder) as server:
        load = Load(server.url)
        api = ApiRequests(load, server.url, server.auth)
        body = {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"}
        api.call("POST", "/repositories", body)
        for number in range(given.objects):
            api.call("POST", f"{BRANCHES}/main/objects?path=first/{number:06d}", b"content")
        api.call("POST", f"{BRANCHES}/main/commits", {"message": "objects"})
        print(
            f"{'clients':>8} {'p50 ms':>8} {'p99 ms':>8} {'cycles/s':>9} {'server CPU ms':>14}",
            end="",
        )
        print("   p50 ms of branch, put, diff, commit, merge, delete")
        for clients in given.clients:
            shares = [clients // PROCESSES] * PROCESSES if clients >= PROCESSES else [clients]
            before, began = cpu_seconds(server.pid), time.perf_counter()
            with multiprocessing.Pool(len(shares)) as pool:
                run = partial(work, server.url, server.auth, given.seconds)
                took = [times for part in pool.map(run, shares, chunksize=1) for times in part]
            whole = time.perf_counter() - began
            cpu = cpu_seconds(server.pid) - before
            cycles = sorted(map(sum, took))
            p50, p99 = (1e3 * cycles[int(len(cycles) * share)] for share in (0.5, 0.99))
            steps = " ".join(
                f"{statistics.median(step) * 1e3:.2f}" for step in zip(*took, strict=True)
            )
            rate, each = len(cycles) / whole, cpu / len(cycles) * 1e3
            print(f"{clients:>8} {p50:>8.2f} {p99:>8.2f} {rate:>9.0f} {each:>14.2f}   {steps}")


if __name__ == "__main__":
    main()
