"""Benchmarks clients: what reading many small objects costs the program that reads them.

    python benchmarks/bench_client.py --objects 1000        a minute

Prints for each client the time and the processor time of the client's process for each object, the
median of some rounds in which the clients take turns, and of the clients that read one object after
another the ratio to this project's. The objects have 512 B and are committed; the server runs over
SQLite on the same machine, so the time includes that of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import boto3
import lakefs
from botocore.config import Config
from lakefs.client import Client
from lakefs_spec import LakeFSFileSystem

import anabranch
from anabranch import aio
from anabranch.testing.server import Server, running_server

SIZE = 512
ROUNDS = 5
OURS = "anabranch"

Read = Callable[[], int]
"""Reads all objects and returns how many bytes they have."""


def fill(server: Server, paths: list[str]) -> None:
    """Commits the objects."""
    with anabranch.connect(server.url, *server.auth) as lake:
        lake.repositories.create("sea")
        branch = lake.repository("sea").branch("main")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: branch.write(path, os.urandom(SIZE)), paths))
        branch.commit("objects")


def readers(server: Server, paths: list[str]) -> dict[str, Read]:
    """Returns how each client reads."""
    lake = anabranch.connect(server.url, *server.auth)
    repository = lakefs.Repository(
        "sea", client=Client(host=server.url, username=server.auth[0], password=server.auth[1])
    )
    files = LakeFSFileSystem(
        host=server.url,
        username=server.auth[0],
        password=server.auth[1],
        skip_instance_cache=True,
        use_listings_cache=False,
    )
    s3 = boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.auth[0],
        aws_secret_access_key=server.auth[1],
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}),
    )

    def ours(path: str) -> int:
        return len(lake.objects.open("sea", "main", path).read_bytes())

    def with_lakefs(path: str) -> int:
        with repository.ref("main").object(path).reader(mode="rb") as reader:
            return len(reader.read())

    def with_spec(path: str) -> int:
        return len(files.cat_file(f"lakefs://sea/main/{path}"))

    def with_boto3(path: str) -> int:
        return len(s3.get_object(Bucket="sea", Key=f"main/{path}")["Body"].read())

    def in_threads() -> int:
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(ours, paths))

    def one_by_one(read: Callable[[str], int]) -> Read:
        return lambda: sum(map(read, paths))

    return {
        OURS: one_by_one(ours),
        "lakefs": one_by_one(with_lakefs),
        "lakefs-spec": one_by_one(with_spec),
        "boto3, through S3": one_by_one(with_boto3),
        f"{OURS}, 8 threads": in_threads,
        f"{OURS}.aio, 32 requests": lambda: asyncio.run(read_all(server, paths)),
    }


async def read_all(server: Server, paths: list[str]) -> int:
    """Returns the bytes of all objects, read for asyncio."""
    async with aio.connect(server.url, *server.auth) as lake:

        async def read(path: str) -> int:
            return len(await (await lake.objects.open("sea", "main", path)).read_bytes())

        return sum(await asyncio.gather(*map(read, paths)))


def main() -> None:
    """Prints a line for each client."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    paths = [f"{number % 100:02}/{number:06}" for number in range(given.objects)]
    with tempfile.TemporaryDirectory() as folder, running_server(folder) as server:
        fill(server, paths)
        measured: dict[str, list[tuple[float, float]]] = {}
        reading = readers(server, paths)
        for each in reading.values():
            each()  # not counted: connections and what is imported late
        for _ in range(given.rounds):
            for name, read in reading.items():
                began, used = time.perf_counter(), time.process_time()
                assert read() == SIZE * len(paths)
                ended = time.perf_counter() - began, time.process_time() - used
                measured.setdefault(name, []).append(ended)
    print(f"{'':<28} {'us/object':>10} {'CPU us':>8} {'CPU ratio':>10}")
    medians = {
        name: [statistics.median(each) * 1e6 / len(paths) for each in zip(*rows, strict=True)]
        for name, rows in measured.items()
    }
    for name, (wall, cpu) in medians.items():
        print(f"{name:<28} {wall:>10.0f} {cpu:>8.0f} {cpu / medians[OURS][1]:>10.1f}")


if __name__ == "__main__":
    main()
