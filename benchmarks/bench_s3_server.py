"""Benchmarks a server's S3 gateway: processor time, latency, throughput.

    python benchmarks/bench_s3_server.py                     half a minute
    python benchmarks/bench_s3_server.py --only '1 KiB'      the lines whose names contain that

Requests are signed in advance and repeated, so that the measurement does not include signing; the
server verifies each signature. See README.md.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
from collections.abc import Callable, Sequence

from api_requests import ApiRequests
from dataset import REPOSITORY, create_dataset
from load import Load
from proc_stats import memory_mib
from report_table import ReportTable
from s3_requests import S3Requests

from anabranch.testing.server import Server, running_server

OBJECTS = 10_000
DIFFERENT = 500
ONE_KIB = random.Random(0).randbytes(1024)
LARGE = random.Random(0).randbytes(64 << 20)


class Bench:
    """The measurements, each a line of the table."""

    def __init__(self, server: Server, seconds: float, only: str) -> None:
        self.server = server
        self.load = Load(server.url)
        self.s3 = S3Requests(server.url, server.auth)
        self.table = ReportTable(self.load, server.pid, seconds)
        self.only = re.compile(only)

    def prepare(self) -> None:
        """Puts objects that have bytes."""
        api = ApiRequests(self.load, self.server.url, self.server.auth)
        api.call("POST", f"/repositories/{REPOSITORY}/branches", {"name": "puts", "source": "main"})
        self.load.run(cycle(self.small("PUT", ONE_KIB)), in_flight=8, count=DIFFERENT)
        status, answer = self.load.ask(self.s3.request("PUT", "puts/large", LARGE))
        assert status == 200, answer
        api.call("POST", f"/repositories/{REPOSITORY}/branches/puts/commits", {"message": "puts"})

    def small(self, method: str, body: bytes = b"", *, checksum: bool = False) -> list[bytes]:
        """Returns requests about small objects."""
        return [
            self.s3.request(method, f"puts/small/{number:06d}", body, checksum=checksum)
            for number in range(DIFFERENT)
        ]

    def page(self) -> bytes:
        """Returns a request for a page of 1,000 objects."""
        return self.s3.request("GET", query="list-type=2&max-keys=1000&prefix=main%2Fdata%2F")

    def requests(
        self, name: str, made: Sequence[bytes], in_flight: Sequence[int], *, size: int = 0
    ) -> None:
        """Measures requests, if they were asked for."""
        if self.only.search(name):
            for number in in_flight:
                self.table.requests(name, cycle(made), number, size=size)

    def run(self) -> None:
        """Measures everything and prints the table."""
        self.prepare()
        self.requests("HEAD of 1 KiB", self.small("HEAD"), (1, 16))
        self.requests("GET of 1 KiB", self.small("GET"), (1, 16))
        self.requests("list of 1,000", [self.page()], (1,))
        self.requests("PUT of 1 KiB", self.small("PUT", ONE_KIB), (1, 16))
        checked = self.small("PUT", ONE_KIB, checksum=True)
        self.requests("PUT of 1 KiB with its CRC32", checked, (1, 16))
        self.requests("GET of 1 KiB with its CRC32", self.small("GET", checksum=True), (1, 16))
        self.requests(
            "GET of 64 MiB", [self.s3.request("GET", "puts/large")], (1, 4), size=len(LARGE)
        )
        for signed in (False, True):
            how = "signed" if signed else "unsigned"
            put = self.s3.request("PUT", "puts/large", LARGE, signed_body=signed)
            self.requests(f"PUT of 64 MiB, {how} body", [put], (1, 4), size=len(LARGE))
        resident, own = memory_mib(self.server.pid)
        print(f"memory: {resident:,.0f} MiB resident, {own:,.0f} MiB of it not mapped files")


def cycle(made: Sequence[bytes]) -> Callable[[], bytes]:
    """Returns what gives the requests one after another, again and again."""
    return itertools.cycle(made).__next__


def main() -> None:
    """Runs the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each line")
    parser.add_argument("--only", default="", help="a regular expression for names of lines")
    given = parser.parse_args()
    with create_dataset(OBJECTS) as folder, running_server(folder) as server:
        Bench(server, given.seconds, given.only).run()


if __name__ == "__main__":
    main()
