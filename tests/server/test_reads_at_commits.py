"""Reads at a commit over PostgreSQL: what they ask the database, and where they are performed."""

from __future__ import annotations

import time

import httpx2
import pytest
from support.clients.no_retry_client import Caller

from anabranch.testing.server import running_server

READS = 200
IN_THE_BACKGROUND = 20
"""Most requests that a server sends in a second to know what has changed, and by itself."""


@pytest.fixture
def server(tmp_path, postgres_database):
    with running_server(tmp_path, database=postgres_database) as server:
        yield server


def requests_of(server):
    """Returns how many requests a server has sent to the database."""
    name = 'anabranch_store_requests_total{store="postgres"} '
    lines = httpx2.get(f"{server.url}/metrics", timeout=60).text.splitlines()
    (counted,) = [line.removeprefix(name) for line in lines if line.startswith(name)]
    return float(counted)


def test_the_database_is_not_asked_each_time(server):
    caller = Caller(server)
    caller.make_repository("sea")
    caller.put("sea", "main", "a", b"1")
    commit = caller.commit("sea", "main", "first").json["id"]
    asked, began = requests_of(server), time.monotonic()
    for _ in range(READS):
        assert caller.get("sea", commit, "a").body == b"1"
        stat = caller("GET", f"/repositories/sea/refs/{commit}/objects/stat?path=a")
        assert stat.json["size_bytes"] == 1
    took = time.monotonic() - began
    assert requests_of(server) - asked < IN_THE_BACKGROUND * (1 + took)
    for _ in range(READS):
        assert caller.get("sea", "main", "a").body == b"1"
    assert requests_of(server) - asked >= READS


def test_what_a_commit_does_not_have_is_missing_each_time(server):
    caller = Caller(server)
    caller.make_repository("sea")
    commit = caller.put("sea", "main", "a", b"1") and caller.commit("sea", "main", "1").json["id"]
    for _ in range(3):
        assert caller.get("sea", commit, "b").status == 404
        assert caller.get("sea", commit[::-1], "a").status == 404
        assert caller.get("another", commit, "a").status == 404
