"""Pins over HTTP: written, renewed, released and refused."""

from __future__ import annotations

import uuid

import pytest


@pytest.fixture
def pin(repository):
    return f"/repositories/{repository}/gc/pins/{uuid.uuid4()}"


@pytest.fixture
def head(api, repository):
    return api.get(f"/repositories/{repository}/branches/main").json()["commit_id"]


def test_pins_are_written_renewed_and_released_idempotently(api, pin, head):
    body = {"commits": [head], "seconds": 60}
    for _ in range(2):
        assert api.put(pin, json=body).status_code == 204
    for _ in range(2):
        assert api.post(f"{pin}/renew", params={"seconds": 3600}).status_code == 204
    assert api.post(f"{pin}/renew").status_code == 204
    for _ in range(2):
        assert api.delete(pin).status_code == 204
    lost = api.post(f"{pin}/renew")
    assert lost.status_code == 409
    assert lost.headers["X-Anabranch-Kind"] == "pin_lost"
    assert lost.headers["X-Anabranch-Hint"]


def test_an_invalid_pin_is_refused(api, pin, head, repository):
    assert api.put(pin, json={"commits": [head], "seconds": 3601}).status_code == 400
    assert api.put(pin, json={"commits": [head], "seconds": 1.5}).status_code == 400
    assert api.put(pin, json={"commits": []}).status_code == 400
    assert api.put(pin, json={"commits": "x"}).status_code == 400
    assert api.put(pin, json={"commits": ["main"]}).status_code == 404
    assert api.put(pin, content=b"").status_code == 400
    assert api.post(f"{pin}/renew", params={"seconds": "0"}).status_code == 400
    short = f"/repositories/{repository}/gc/pins/short"
    assert api.put(short, json={"commits": [head]}).status_code == 400
    elsewhere = pin.replace(repository, "nowhere")
    assert api.put(elsewhere, json={"commits": [head]}).status_code == 404
    assert api.delete(elsewhere).status_code == 404
    assert api.post(f"{pin}/renew").status_code == 409
    with_no_keys = api.put(pin, json={"commits": [head]}, auth=("no", "body"))
    assert with_no_keys.status_code == 401


def test_a_tree_is_committed_with_a_pin_from_before_or_after_a_sweep(api, repository, head):
    sweeps = f"/repositories/{repository}/gc/sweeps"
    before = api.get(sweeps).json()
    begun = before["begun"]
    sweep = f"{sweeps}/{uuid.uuid4().hex[:20]}"
    assert api.put(sweep).status_code == 204
    assert api.put(sweep, params={"renew": "true"}).status_code == 204
    here = {
        "repository_begun": before["repository_begun"] + 1,
        "tables_swept": before["tables_swept"],
    }
    assert api.get(sweeps).json() == {"begun": begun, **here, "repository_running": 1}
    assert api.delete(sweep).status_code == 204
    assert api.get(sweeps).json() == {"begun": begun + 1, **here, "repository_running": 0}
    tree = api.get(f"/repositories/{repository}/commits/{head}").json()["meta_range_id"]
    commits = f"/repositories/{repository}/branches/main/commits"
    body = {"message": "m", "allow_empty": True}
    for number in (begun, begun + 1):
        params = {"source_metarange": tree, "sweeps_begun": number}
        assert api.post(commits, params=params, json=body).status_code == 201
    params = {"source_metarange": tree, "sweeps_begun": "x"}
    assert api.post(commits, params=params, json=body).status_code == 400
    assert api.get("/repositories/nowhere/gc/sweeps").status_code == 404


def test_of_two_sweeps_that_removed_an_object_the_first_to_ask_counts_it(api, repository):
    namespace = api.get(f"/repositories/{repository}").json()["storage_namespace"]
    first, second = (
        f"/repositories/{repository}/gc/sweeps/{uuid.uuid4().hex[:20]}" for _ in range(2)
    )
    addresses = {"addresses": [f"{namespace}/data/one", f"{namespace}/data/two"]}
    for sweep in (first, second):
        assert api.put(sweep).status_code == 204
        assert api.post(f"{sweep}/tombstones", json=addresses).status_code == 204
    one = {"addresses": addresses["addresses"][:1]}
    for _ in range(2):  # also repeated, as by a client that has lost the response
        assert api.post(f"{second}/removed", json=one).json() == {"counted": [True]}
    assert api.post(f"{first}/removed", json=addresses).json() == {"counted": [False, True]}
    assert api.post(f"{second}/removed", json=addresses).json() == {"counted": [True, False]}
    many = {"addresses": one["addresses"] * 1001}
    assert api.post(f"{first}/removed", json=many).status_code == 400
    elsewhere = first.replace(repository, "nowhere")
    assert api.post(f"{elsewhere}/removed", json=one).status_code == 404
    for sweep in (first, second):
        assert api.delete(sweep).status_code == 204
