"""Reverts of several commits and rebases over HTTP."""

from __future__ import annotations

import pytest


@pytest.fixture
def branches(repository):
    return f"/repositories/{repository}/branches"


@pytest.fixture
def commit(api, branches):
    def commit(branch, **contents):
        for path, content in contents.items():
            sent = api.post(
                f"{branches}/{branch}/objects", params={"path": path}, content=content.encode()
            )
            assert sent.status_code == 201, sent.text
        message = " ".join(contents)
        created = api.post(f"{branches}/{branch}/commits", json={"message": message})
        assert created.status_code == 201, created.text
        return created.json()["id"]

    return commit


@pytest.fixture
def head(api, branches):
    return lambda branch: api.get(f"{branches}/{branch}").json()["commit_id"]


@pytest.fixture
def read(api, repository):
    """Returns the content of each object of a reference."""

    def read(ref):
        place = f"/repositories/{repository}/refs/{ref}/objects"
        listed = api.get(f"{place}/ls").json()["results"]
        return {each["path"]: api.get(place, params={"path": each["path"]}).text for each in listed}

    return read


def test_several_commits_are_reverted_in_order(api, branches, repository, commit, head, read):
    commit("main", a="1", b="1")
    commit("main", a="2")
    commit("main", b="2")
    response = api.post(f"{branches}/main/reverts", json={"refs": ["main", "main~1"]})
    assert response.status_code == 200, response.text
    created = response.json()["results"]
    assert [each["message"] for each in created] == ["Revert main", "Revert main~1"]
    assert created[1]["parents"] == [created[0]["id"]]
    assert head("main") == created[1]["id"]
    assert read("main") == {"a": "1", "b": "1"}
    log = api.get(f"/repositories/{repository}/refs/main/commits").json()["results"]
    assert [each["id"] for each in log[:2]] == [created[1]["id"], created[0]["id"]]
    assert log[0] == created[1]


@pytest.mark.parametrize(
    ("refs", "status"),
    [
        (["main", "main~1", "none"], 404),
        (["main", "main"], 400),  # the second changes nothing
        (["main~1", "main~2"], 409),  # the last commit has changed the same object again
        ([], 400),
        (["main"] * 1001, 400),
        ("main", 400),
        ([1], 400),
    ],
)
@pytest.mark.sample(4)
def test_reverts_that_fail_change_nothing(api, branches, commit, head, read, refs, status):
    commit("main", a="1")
    commit("main", a="2")
    commit("main", b="2")
    last = commit("main", a="3")
    before = read("main")
    response = api.post(f"{branches}/main/reverts", json={"refs": refs})
    assert response.status_code == status, response.text
    assert head("main") == last
    assert read("main") == before
    if status == 409:
        assert response.json()["conflicts"] == ["a"]
        assert len(response.json()["commit_id"]) == 64


def test_reverts_are_refused_while_changes_are_uncommitted(api, branches, commit, head):
    last = commit("main", a="1")
    sent = api.post(f"{branches}/main/objects", params={"path": "b"}, content=b"1")
    assert sent.status_code == 201
    response = api.post(f"{branches}/main/reverts", json={"refs": ["main"]})
    assert response.status_code == 400
    assert "uncommitted" in response.json()["message"]
    assert head("main") == last


def test_a_rebase_moves_the_branch_and_reports_what_was_replayed(api, branches, commit, head, read):
    commit("main", a="1")
    assert api.post(branches, json={"name": "side", "source": "main"}).status_code == 201
    commit("side", b="1")
    commit("side", c="1")
    base = commit("main", b="1")
    response = api.post(f"{branches}/side/rebase", json={"onto": "main"})
    assert response.status_code == 200, response.text
    assert response.json() == {"commit_id": head("side"), "replayed": 1, "dropped": 1}
    assert read("side") == {"a": "1", "b": "1", "c": "1"}
    assert head("main") == base


def test_a_rebase_with_a_conflict_names_commit_and_paths(api, branches, commit, head):
    commit("main", a="1")
    assert api.post(branches, json={"name": "side", "source": "main"}).status_code == 201
    conflicting = commit("side", a="2")
    commit("main", a="3")
    response = api.post(f"{branches}/side/rebase", json={"onto": "main"})
    assert response.status_code == 409
    body = response.json()
    assert (body["conflicts"], body["commit_id"]) == (["a"], conflicting)
    assert head("side") == conflicting


@pytest.mark.parametrize(
    ("branch", "body", "status"),
    [
        ("none", {"onto": "main"}, 404),
        ("main", {"onto": "none"}, 404),
        ("main", {"onto": ""}, 400),
        ("main", {}, 400),
        ("main", {"onto": 1}, 400),
        ("main", {"onto": "main~99"}, 404),
        ("main", {"onto": "main$"}, 400),
        ("main~1", {"onto": "main"}, 404),
    ],
)
def test_invalid_rebases_are_refused(api, branches, commit, head, branch, body, status):
    last = commit("main", a="1")
    response = api.post(f"{branches}/{branch}/rebase", json=body)
    assert response.status_code == status, response.text
    assert head("main") == last


def test_a_protected_branch_is_not_rebased(api, branches, repository, commit, head):
    commit("main", a="1")
    assert api.post(branches, json={"name": "side", "source": "main"}).status_code == 201
    last = commit("side", b="1")
    commit("main", c="1")
    rules = f"/repositories/{repository}/settings/branch_protection"
    assert api.put(rules, json=[{"pattern": "side"}]).status_code == 204
    response = api.post(f"{branches}/side/rebase", json={"onto": "main"})
    assert response.status_code == 403
    assert head("side") == last
