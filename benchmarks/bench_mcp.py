"""Benchmarks calls of tools: over HTTP and over standard input, beside the REST request of each.

    python benchmarks/bench_mcp.py --calls 300        a minute

Prints the median time of a call by one client that sends one after another, over SQLite on the same
machine, and what it takes from the start of `anabranch mcp` to its first response.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import httpx2

import anabranch
from anabranch.testing.server import Server, running_server

_HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-11-25",
}
_LISTED = {"repository": "sea", "reference": "main"}


def message(method: str, **params: Any) -> dict[str, Any]:
    """Returns a request of the protocol."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


INITIALIZE = message(
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "benchmark", "version": "1"},
)
CALL = message("tools/call", name="list_objects", arguments=_LISTED)


class Process:
    """`anabranch mcp` as a process; `started` is the time in seconds to its first response."""

    def __init__(self, *words: str, environment: dict[str, str]) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "anabranch", "mcp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.ask(INITIALIZE)
        self.started = time.perf_counter() - began
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, request: dict[str, Any]) -> bytes:
        """Returns the line that responds to a request."""
        self._send(request)
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _send(self, content: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(content).encode() + b"\n")
        self._process.stdin.flush()


def median(calls: int, call: Callable[[], object]) -> float:
    """Returns the median time of a call in milliseconds."""
    for _ in range(10):
        call()
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def measure(server: Server, folder: str, calls: int) -> None:
    """Prints the measurements."""
    path = "/api/v1/repositories/sea/refs/main/objects/ls"
    with httpx2.Client(base_url=server.url, auth=server.auth, headers=_HEADERS) as http:

        def rest() -> None:
            http.get(path, params={"amount": 50, "delimiter": "/"}).raise_for_status()

        def tool() -> None:
            http.post("/mcp", json=CALL).raise_for_status()

        def ping() -> None:
            http.post("/mcp", json=message("ping")).raise_for_status()

        print(f"REST                   {median(calls, rest):6.2f} ms")
        print(f"/mcp, a tool           {median(calls, tool):6.2f} ms")
        print(f"/mcp, ping             {median(calls, ping):6.2f} ms")
    environment = {
        "ANABRANCH_SERVER": server.url,
        "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
        "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
        "PYTHONPATH": ":".join(sys.path),
    }
    for name, words in (("server", ()), ("folder", ("--data", folder))):
        process = Process(*words, environment=environment)
        each = median(calls, lambda process=process: process.ask(CALL))
        print(f"stdio to a {name}, a tool {each:4.2f} ms; starts in {process.started:.2f} s")
        process.close()


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=300)
    calls = parser.parse_args().calls
    with (
        tempfile.TemporaryDirectory() as data,
        tempfile.TemporaryDirectory() as folder,
        running_server(data, fresh=True) as server,
    ):
        for lake in (anabranch.connect(server.url, *server.auth), anabranch.open(folder)):
            with lake:
                lake.repositories.create("sea")
                main_branch = lake.repository("sea").branch("main")
                for number in range(20):
                    main_branch.write(f"{number}.csv", b"a,b\n1,2\n")
                main_branch.commit("twenty objects")
        measure(server, folder, calls)


if __name__ == "__main__":
    main()
