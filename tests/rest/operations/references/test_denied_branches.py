"""A policy that denies a branch denies every expression that begins with it."""

from __future__ import annotations

import itertools
import json

import httpx2
import pytest

_numbers = itertools.count(1)


@pytest.fixture
def reader(api, server, repository):
    """A client of a user who may read all of a repository but the branch `secret`."""
    name = f"reader-{next(_numbers)}"
    arn = f"arn:lakefs:fs:::repository/{repository}"
    everything = json.dumps([arn, f"{arn}/*"])
    statements = [
        {"effect": "allow", "action": ["fs:*", "ci:*"], "resource": everything},
        {
            "effect": "deny",
            "action": ["fs:ReadBranch", "fs:CreateCommit"],
            "resource": f"{arn}/branch/secret",
        },
    ]
    body = {"name": "secret", "source": "main"}
    assert api.post(f"/repositories/{repository}/branches", json=body).is_success
    assert api.post("/auth/users", json={"id": name}).is_success
    assert api.post("/auth/policies", json={"id": name, "statement": statements}).is_success
    assert api.put(f"/auth/users/{name}/policies/{name}").is_success
    pair = api.post(f"/auth/users/{name}/credentials").json()
    auth = (pair["access_key_id"], pair["secret_access_key"])
    with httpx2.Client(base_url=server.api, auth=auth, timeout=30) as client:
        yield client


EXPRESSIONS = ("secret", "secret~0", "secret^0", "secret@", "secret$", "secret~1^2", "secret~~")


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_log_of_a_denied_branch_is_refused(reader, repository, expression):
    place = f"/repositories/{repository}/refs/{{}}/commits"
    assert reader.get(place.format("main~0")).status_code == 200
    assert reader.get(place.format(expression.replace("^", "%5E"))).status_code == 401


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_hooks_of_a_denied_branch_are_not_run_by_hand(reader, repository, expression):
    for body in ({"ref": expression}, {"ref": "main", "branch": expression}):
        place = f"/repositories/{repository}/actions/trigger"
        response = reader.post(place, json={"event_type": "post-commit", **body})
        assert response.status_code == 401


@pytest.mark.parametrize("reference", ["secret~x", "secret@@", "~1"])
def test_a_malformed_expression_is_no_other_branch(reader, repository, reference):
    response = reader.get(f"/repositories/{repository}/refs/{reference}/commits")
    assert response.status_code in {400, 404}


def test_a_response_has_one_header_against_sniffing(api, repository):
    place = f"/repositories/{repository}/branches/main/objects"
    api.post(
        place,
        params={"path": "a.json"},
        content=b"{}",
        headers={"content-type": "application/json"},
    )
    got = api.get(f"/repositories/{repository}/refs/main/objects", params={"path": "a.json"})
    assert got.headers["content-type"] == "application/json"
    assert got.headers.get_list("x-content-type-options") == ["nosniff"]
