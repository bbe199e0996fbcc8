"""Conflicts of objects that a user may not read are in no response to that user."""

from __future__ import annotations

import itertools
import json

import httpx2
import pytest
from support.clients.diverged_lake import DivergedLake

_numbers = itertools.count(1)
PATHS = ["a", "private/b", "private/c", "private/d", "x", "y"]


@pytest.fixture
def lake(api, repository):
    lake = DivergedLake(api, repository)
    sides = [dict.fromkeys(PATHS, content) for content in "012"]
    lake.diverge(*sides)
    return lake


@pytest.fixture
def reader(api, server, repository):
    """A client of a user who may do everything but read objects below `private/`."""
    name = f"reader-of-conflicts-{next(_numbers)}"
    arn = f"arn:lakefs:fs:::repository/{repository}"
    statements = [
        {"effect": "allow", "action": ["fs:*"], "resource": json.dumps([arn, f"{arn}/*"])},
        {"effect": "deny", "action": ["fs:ReadObject"], "resource": f"{arn}/object/private/*"},
    ]
    assert api.post("/auth/users", json={"id": name}).is_success
    assert api.post("/auth/policies", json={"id": name, "statement": statements}).is_success
    assert api.put(f"/auth/users/{name}/policies/{name}").is_success
    pair = api.post(f"/auth/users/{name}/credentials").json()
    auth = (pair["access_key_id"], pair["secret_access_key"])
    with httpx2.Client(base_url=server.api, auth=auth, timeout=30) as client:
        yield client


@pytest.mark.parametrize("amount", [1, 2, 100])
def test_pages_of_conflicts_hold_exactly_what_may_be_read(lake, reader, repository, amount):
    everything = [each["path"] for each in lake.conflicts().json()["results"]]
    assert everything == PATHS
    found, after = [], ""
    while True:
        body = DivergedLake(reader, repository).conflicts(amount=amount, after=after).json()
        found += [each["path"] for each in body["results"]]
        assert "private" not in json.dumps(body)
        if not body["pagination"]["has_more"]:
            break
        after = body["pagination"]["next_offset"]
    assert found == ["a", "x", "y"]
    below = DivergedLake(reader, repository).conflicts(prefix="private/").json()
    assert below["results"] == []
