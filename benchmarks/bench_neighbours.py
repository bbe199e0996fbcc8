"""Benchmarks one user beside another who floods a server, over PostgreSQL that answers late.

    bench_neighbours.py [--seconds N] [--delay MILLISECONDS] [--flood N]

One client of the first user reads the properties of an object again and again, alone and beside the
second user, who has `--flood` such reads in flight, or as many uploads that stall after 200 KB. It
prints the median and the 99th percentile of what the first user waits for.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import socket
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

from api_requests import ApiRequests
from dataset import REPOSITORY
from load import Load
from support.faults.faulty_proxy import FaultyProxy
from support.services.postgres import running_cluster

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.testing.server import Server, running_server

OBJECTS = f"/repositories/{REPOSITORY}/branches/main/objects"
STAT = f"/repositories/{REPOSITORY}/refs/main/objects/stat?path=read"
Auth = tuple[str, str]


def read(url: str, auth: Auth, seconds: float, in_flight: int) -> tuple[float, float, float]:
    """Returns reads a second, and the median and 99th percentile of one in milliseconds."""
    load = Load(url)
    stat = ApiRequests(load, url, auth).request("GET", STAT)
    done = load.run(lambda: stat, in_flight=in_flight, seconds=seconds)
    return done.count / done.whole, done.at(0.5) * 1e3, done.at(0.99) * 1e3


def show(label: str, measured: tuple[float, float, float]) -> None:
    rate, median, high = measured
    print(
        f"{label:28} {rate:7.0f} a second, median {median:7.2f} ms, p99 {high:7.2f} ms", flush=True
    )


def delay(port: int, milliseconds: float, ports: Connection) -> None:
    """Is a proxy to PostgreSQL that delays each answer, in a process of its own; sends its port."""
    with FaultyProxy(("127.0.0.1", port)) as proxy:
        ports.send(proxy.port)
        ports.recv()
        proxy.delay(milliseconds / 1e3)
        with contextlib.suppress(EOFError):
            ports.recv()


@contextlib.contextmanager
def stalled(server: Server, auth: Auth, count: int) -> Iterator[None]:
    """Uploads of which 200 KB arrive and no more."""
    url = urlsplit(server.url)
    pair = b64encode(":".join(auth).encode()).decode()
    with contextlib.ExitStack() as stack:
        for number in range(count):
            connection = socket.create_connection((url.hostname, url.port))
            stack.enter_context(connection)
            lines = [
                f"POST /api/v1{OBJECTS}?path=slow/{number} HTTP/1.1",
                f"Host: {url.netloc}",
                f"Authorization: Basic {pair}",
                "Content-Length: 1000000",
            ]
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + bytes(200_000))
        yield


def other_user(api: ApiRequests) -> Auth:
    """Returns the key pair of a second administrator."""
    api.call("POST", "/auth/users", {"id": "second"})
    api.call("PUT", "/auth/groups/Admins/members/second")
    pair = api.call("POST", "/auth/users/second/credentials")
    return pair["access_key_id"], pair["secret_access_key"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--delay", type=float, default=5.0)
    parser.add_argument("--flood", type=int, default=150)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_cluster() as cluster,
    ):
        spawning = multiprocessing.get_context("spawn")  # inherits no file of the cluster's
        ports, other_end = spawning.Pipe()
        arguments = (cluster.port, options.delay, other_end)
        spawning.Process(target=delay, args=arguments, daemon=True).start()
        database = cluster.make_database()
        PostgresDatabase(cluster.url(database)).migrate()
        url = cluster.url(database, port=ports.recv())
        env = {
            "ANABRANCH_DATABASE_TYPE": "postgres",
            "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": url,
        }
        with running_server(folder, env=env) as server:
            api = ApiRequests(Load(server.url), server.url, server.auth)
            namespace = f"local://{REPOSITORY}"
            api.call("POST", "/repositories", {"name": REPOSITORY, "storage_namespace": namespace})
            api.call("POST", f"{OBJECTS}?path=read", b"x")
            second = other_user(api)
            ports.send(True)
            first = server.url, server.auth, options.seconds, 1
            show("alone", read(*first))
            with spawning.Pool(1) as pool:
                arguments = (server.url, second, options.seconds + 2, options.flood)
                beside = pool.apply_async(read, arguments)
                show(f"beside {options.flood} reads", read(*first))
                show("these reads", beside.get())
            with stalled(server, second, options.flood):
                show(f"beside {options.flood} stalled uploads", read(*first))


if __name__ == "__main__":
    main()
