"""Benchmarks the Iceberg catalog: processor time of the server for a request, in milliseconds.

    python benchmarks/bench_iceberg.py [--snapshots 1000] [--tables 1000]

A table with many snapshots is loaded, with all of them and with those that its refs name, and
committed to: an append of one snapshot, each commit of its own. A namespace with many tables is
listed, also with the last commit of each table, and so are folders without tables.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

import httpx2
from proc_stats import cpu_seconds

from anabranch.testing.server import Server, running_server

LAKE, PLACE = "lake", "/iceberg/v1/lake/main/namespaces"
SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": number, "name": f"c{number}", "type": "long", "required": False}
        for number in range(1, 21)
    ],
}
TARGETS = {
    "load": 2.0,
    "load refs": 2.0,
    "commit": 10.0,
    "list tables": 20.0,
    "last commits": 20.0,
    "no tables": 20.0,
}
"""Milliseconds that a request may take, with 1,000 snapshots, 1,000 tables and 600 folders."""

FOLDERS = 600


def snapshot(location: str, number: int, now: int) -> dict[str, Any]:
    """Returns a snapshot as an engine appends it."""
    return {
        "snapshot-id": 7_000_000_000_000_000_000 + number,
        **({"parent-snapshot-id": 7_000_000_000_000_000_000 + number - 1} if number > 1 else {}),
        "sequence-number": number,
        "timestamp-ms": now + number,
        "manifest-list": f"{location}/metadata/snap-{number:040}.avro",
        "summary": {
            "operation": "append",
            "added-data-files": "1",
            "added-records": "1000",
            "added-files-size": "123456",
            "changed-partition-count": "1",
            "total-records": str(number * 1000),
            "total-files-size": str(number * 123456),
            "total-data-files": str(number),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
        },
        "schema-id": 0,
    }


def append(location: str, numbers: range, now: int) -> dict[str, Any]:
    """Returns the commit that appends snapshots."""
    updates: list[dict[str, Any]] = [
        {"action": "add-snapshot", "snapshot": snapshot(location, number, now)}
        for number in numbers
    ]
    ref = {"type": "branch", "snapshot-id": 7_000_000_000_000_000_000 + numbers[-1]}
    updates.append({"action": "set-snapshot-ref", "ref-name": "main", **ref})
    before = None if numbers[0] == 1 else 7_000_000_000_000_000_000 + numbers[0] - 1
    requirement = {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": before}
    return {"requirements": [requirement], "updates": updates}


def measure(server: Server, name: str, call: Callable[[int], object], rounds: int) -> float:
    """Prints the processor time of a request, and returns it in milliseconds."""
    for number in range(5):
        call(number)
    before, began = cpu_seconds(server.pid), time.perf_counter()
    for number in range(5, 5 + rounds):
        call(number)
    took = (cpu_seconds(server.pid) - before) / rounds * 1000
    wall = (time.perf_counter() - began) / rounds * 1000
    print(f"{name:14} {took:8.2f} {wall:8.2f} {TARGETS[name]:8.1f}")
    return took


def run(server: Server, snapshots: int, tables: int) -> None:
    """Prints all measurements."""
    with httpx2.Client(base_url=server.url, auth=server.auth, timeout=120) as client:

        def post(path: str, body: dict[str, Any]) -> Any:
            response = client.post(path, json=body)
            assert response.is_success, response.text
            return response.json()

        def get(path: str) -> None:
            assert client.get(path).status_code == 200

        post("/api/v1/repositories", {"name": LAKE, "storage_namespace": f"local://{LAKE}"})
        staged = {"anabranch.commit": "staged"}
        post(PLACE, {"namespace": ["many"], "properties": staged})
        for number in range(tables):
            post(f"{PLACE}/many/tables", {"name": f"t{number:06}", "schema": SCHEMA})
        for number in range(FOLDERS):
            place = f"/api/v1/repositories/{LAKE}/branches/main/objects"
            path = f"folders/f{number:06}/1.bin"
            assert client.post(place, params={"path": path}, content=b"x").is_success
        post(f"/api/v1/repositories/{LAKE}/branches/main/commits", {"message": "tables"})
        post(PLACE, {"namespace": ["one"]})
        made = post(f"{PLACE}/one/tables", {"name": "trips", "schema": SCHEMA})["metadata"]
        location, now = made["location"], made["last-updated-ms"]
        trips = f"{PLACE}/one/tables/trips"
        post(trips, append(location, range(1, snapshots + 1), now))
        size = len(client.get(trips).content)
        print(f"{snapshots} snapshots ({size:,} bytes), {tables} tables: ms a request")
        print(f"{'':14} {'CPU':>8} {'wall':>8} {'target':>8}")
        measure(server, "load", lambda _: get(trips), 200)
        measure(server, "load refs", lambda _: get(f"{trips}?snapshots=refs"), 100)

        def commit(number: int) -> None:
            following = snapshots + 1 + number
            post(trips, append(location, range(following, following + 1), now))

        measure(server, "commit", commit, 100)
        measure(server, "list tables", lambda _: get(f"{PLACE}/many/tables"), 50)
        listed = f"/api/v1/repositories/{LAKE}/refs/main/tables?amount=1000"
        measure(server, "last commits", lambda _: get(f"{listed}&prefix=_tables/many/"), 50)
        measure(server, "no tables", lambda _: get(f"{listed}&prefix=folders/"), 50)


def main() -> None:
    """Parses the options and runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snapshots", type=int, default=1000)
    parser.add_argument("--tables", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(folder) as server:
        run(server, options.snapshots, options.tables)


if __name__ == "__main__":
    main()
