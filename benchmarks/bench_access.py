"""Benchmarks access control: microseconds of a decision, and processor time of requests of a user
with 10 policies beside those of an administrator.

    python benchmarks/bench_access.py

The decisions are those of a user with 50 policies. Of requests, the server's processor time counts;
rounds of both users alternate, and the ratio of the medians is shown.
"""

from __future__ import annotations

import statistics
import tempfile
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx2
from bench_authenticate import cost
from proc_stats import cpu_seconds

from anabranch.access.policies.conditions import RequestContext
from anabranch.access.policies.decision import CompiledStatements
from anabranch.access.policies.permissions import AllBelow, Permission, object_arn
from anabranch.access.policies.statements import Effect, Statement
from anabranch.testing.server import Server, running_server

POLICIES = 50
ROUNDS, REQUESTS = 11, 400
LAKE = "lake"
INSIDE = {"IpAddress": {"SourceIp": ("10.0.0.0/8",)}}


def decisions() -> None:
    """Prints the time of decisions on one object and on all objects below a prefix."""
    print(f"us of CPU for a decision, {POLICIES} policies    object   prefix")
    for name, pattern, condition in (
        ("prefixes", "raw/*", {}),
        ("inner wildcards", "raw/*/part-*", {}),
        ("addresses of clients", "raw/*", INSIDE),
    ):
        statements = [
            Statement(Effect.ALLOW, ("fs:Read*",), (object_arn(f"lake-{n}", pattern),), condition)
            for n in range(POLICIES - 1)
        ]
        secret = object_arn("lake-1", "raw/secret/*/?")
        statements.append(Statement(Effect.DENY, ("fs:*",), (secret,)))
        compiled = CompiledStatements(statements, "jane")
        resource = object_arn(f"lake-{POLICIES - 2}", "raw/2026/part-1")
        context = RequestContext(source_ip="10.1.2.3", username="jane", time=0)
        times = [
            cost(partial(compiled.allow, Permission("fs:ReadObject", asked), context), 5000)
            for asked in (resource, AllBelow(resource))
        ]
        print(f"{name:41} {times[0]:8.2f} {times[1]:8.2f}")


def create_user(server: Server) -> tuple[str, str]:
    """Returns the key pair of a user with 10 policies, of which the last allows what is asked."""
    with httpx2.Client(base_url=server.api, auth=server.auth) as api:
        body = {"name": LAKE, "storage_namespace": f"local://{LAKE}"}
        assert api.post("/repositories", json=body).is_success
        place = f"/repositories/{LAKE}/branches/main/objects"
        for number in range(100):
            assert api.post(place, params={"path": f"raw/{number:03}"}, content=b"x").is_success
        assert api.post("/auth/users", json={"id": "jane"}).is_success
        for number in range(10):
            name = LAKE if number == 9 else f"other-{number}"
            statement = {
                "effect": "allow",
                "action": ["fs:Read*", "fs:List*", "fs:WriteObject"],
                "resource": f"arn:lakefs:fs:::repository/{name}*",
            }
            policy = {"id": f"P{number}", "statement": [statement]}
            assert api.post("/auth/policies", json=policy).is_success
            assert api.put(f"/auth/users/jane/policies/P{number}").is_success
        pair = api.post("/auth/users/jane/credentials").json()
        return pair["access_key_id"], pair["secret_access_key"]


def requests() -> None:
    """Prints the processor time of requests of both users."""
    print("\nus of the server's CPU for a request   administrator   10 policies   ratio")
    base = f"/api/v1/repositories/{LAKE}"
    kinds = {
        "stat": ("GET", f"{base}/refs/main/objects/stat?path=raw%2F001", b""),
        "get": ("GET", f"{base}/refs/main/objects?path=raw%2F001", b""),
        "list 100": ("GET", f"{base}/refs/main/objects/ls?amount=100&prefix=raw%2F", b""),
        "put": ("POST", f"{base}/branches/main/objects?path=raw%2F001", b"x" * 1024),
    }
    with tempfile.TemporaryDirectory() as folder, running_server(folder) as server:
        users = {"administrator": server.auth, "jane": create_user(server)}
        for name, kind in kinds.items():
            spent: dict[str, list[float]] = {user: [] for user in users}
            for _ in range(ROUNDS):
                for user, keys in users.items():
                    spent[user].append(processor_time(server, partial(send, server, keys, *kind)))
            admin, jane = (statistics.median(spent[user]) for user in users)
            print(f"{name:38} {admin:13.1f} {jane:13.1f} {jane / admin:7.2f}")


def processor_time(server: Server, run: Callable[[], None]) -> float:
    """Returns the server's processor time for each of the requests of a round, in microseconds."""
    before = cpu_seconds(server.pid)
    run()
    return (cpu_seconds(server.pid) - before) / REQUESTS * 1e6


def send(server: Server, keys: tuple[str, str], method: str, path: str, body: bytes) -> None:
    """Sends the requests of a round on one connection."""
    connection = HTTPConnection(urlsplit(server.url).netloc)
    headers = {"Authorization": "Basic " + b64encode(":".join(keys).encode()).decode()}
    for _ in range(REQUESTS):
        connection.request(method, path, body=body or None, headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status in {200, 201}, response.status
    connection.close()


if __name__ == "__main__":
    decisions()
    requests()
