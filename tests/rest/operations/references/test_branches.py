"""Branches over HTTP."""

from __future__ import annotations

import pytest

UNKNOWN = {"message": "branch not found"}


@pytest.fixture
def branches(repository):
    return f"/repositories/{repository}/branches"


def head(api, branches, name="main"):
    return api.get(f"{branches}/{name}").json()["commit_id"]


def put(api, branches, path, content=b"x", branch="main"):
    response = api.post(f"{branches}/{branch}/objects", params={"path": path}, content=content)
    assert response.status_code == 201


def paths(api, branches, branch="main", **params):
    return [
        item["path"]
        for item in api.get(f"{branches}/{branch}/diff", params=params).json()["results"]
    ]


def test_a_branch_is_created_with_its_commit_as_plain_text(api, branches):
    created = api.post(branches, json={"name": "dev", "source": "main"})
    assert (created.status_code, created.text) == (201, head(api, branches))
    assert created.headers["content-type"] == "text/plain; charset=utf-8"
    got = api.get(f"{branches}/dev")
    assert got.text == f'{{"commit_id":"{head(api, branches)}","id":"dev"}}\n'


def test_branch_names_may_have_a_scope(api, branches):
    for name in ("dev:joe-bugfix-1234", "dev:jane-before-v2.3-merge"):
        assert api.post(branches, json={"name": name, "source": "main"}).status_code == 201
        assert api.get(f"{branches}/{name}").json()["id"] == name


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"name": "main", "source": "main"}, 409, "branch already exists: not unique"),
        ({"name": "dev", "source": "nope"}, 404, "source reference 'nope': not found"),
        ({"name": "-dev", "source": "main"}, 400, "argument branch: branch id: invalid value"),
        ({"name": "a/b", "source": "main"}, 400, "argument branch: branch id: invalid value"),
        ({"name": "dev"}, 400, 'Error at "/source": property "source" is missing'),
        ({"name": "dev", "source": "main$"}, 400, "reference to staging area with $"),
        ({"name": "dev", "source": "main~7"}, 404, "source reference 'main~7': not found"),
    ],
)
def test_an_invalid_branch_is_not_created(api, branches, body, status, message):
    refused = api.post(branches, json=body)
    assert refused.status_code == status
    assert message in refused.json()["message"]


def test_names_of_tags_and_commits_cannot_be_used(api, branches):
    assert (
        api.post(branches.replace("branches", "tags"), json={"id": "v1", "ref": "main"}).status_code
        == 201
    )
    tag = api.post(branches, json={"name": "v1", "source": "main"})
    assert (tag.status_code, tag.json()) == (409, {"message": "tag ID v1: conflict found"})
    commit_id = head(api, branches)
    commit = api.post(branches, json={"name": commit_id, "source": "main"})
    assert commit.status_code == 409
    assert commit.json() == {"message": f"commit ID {commit_id}: conflict found"}


def test_branches_are_listed_in_pages(api, branches):
    for name in ("b", "a", "hidden"):
        body = {"name": name, "source": "main", "hidden": name == "hidden"}
        assert api.post(branches, json=body).status_code == 201

    def names(**params):
        return [item["id"] for item in api.get(branches, params=params).json()["results"]]

    assert names() == ["a", "b", "main"]
    assert names(show_hidden="true") == ["a", "b", "hidden", "main"]
    assert names(prefix="m") == ["main"]
    assert names(after="a", amount=1) == ["b"]
    assert api.get(f"{branches}/hidden").status_code == 200


def test_a_deleted_branch_does_not_exist(api, branches):
    api.post(branches, json={"name": "dev", "source": "main"})
    assert api.delete(f"{branches}/dev").status_code == 204
    assert api.delete(f"{branches}/dev").json() == UNKNOWN
    refused = api.delete(f"{branches}/main")
    assert refused.status_code == 403
    assert refused.json() == {"message": "cannot delete repository default branch"}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_missing_branch_is_not_found(api, branches, method):
    response = api.request(method, f"{branches}/nope")
    assert (response.status_code, response.json()) == (404, UNKNOWN)
    assert api.get(f"{branches}/nope/diff").json() == UNKNOWN
    assert api.get("/repositories/no-such/branches").json() == {"message": "repository not found"}


def test_uncommitted_changes_are_listed(api, branches):
    for path in ("a/1", "a/2", "b"):
        put(api, branches, path, b"12345")
    got = api.get(f"{branches}/main/diff", params={"amount": 1})
    assert got.text == (
        '{"pagination":{"has_more":true,"max_per_page":1000,"next_offset":"a/1","results":1},'
        '"results":[{"path":"a/1","path_type":"object","size_bytes":5,"type":"added"}]}\n'
    )
    assert paths(api, branches, after="a/1") == ["a/2", "b"]
    assert paths(api, branches, prefix="a/") == ["a/1", "a/2"]
    assert api.get(f"{branches}/main/diff", params={"delimiter": "/"}).json()["results"] == [
        {"path": "a/", "path_type": "common_prefix", "type": "prefix_changed"},
        {"path": "b", "path_type": "object", "size_bytes": 5, "type": "added"},
    ]


def test_a_reset_drops_uncommitted_changes(api, branches):
    for path in ("a/1", "a/2", "b", "c"):
        put(api, branches, path)

    def reset(**body):
        return api.put(f"{branches}/main", json=body)

    assert reset(type="object", path="b").status_code == 204
    assert paths(api, branches) == ["a/1", "a/2", "c"]
    assert reset(type="common_prefix", path="a/").status_code == 204
    assert paths(api, branches) == ["c"]
    assert reset(type="reset").status_code == 204
    assert paths(api, branches) == []
    assert reset(type="abc").status_code == 400
    assert reset(type="object").status_code == 400
    assert api.put(f"{branches}/nope", json={"type": "reset"}).json() == UNKNOWN


def commit(api, branches, path, content, branch="main"):
    put(api, branches, path, content, branch)
    response = api.post(f"{branches}/{branch}/commits", json={"message": f"{path}={content}"})
    assert response.status_code == 201
    return response.json()["id"]


def test_a_revert_undoes_a_commit(api, branches):
    commit(api, branches, "a", b"1")
    changed = commit(api, branches, "a", b"2")
    body = {"ref": changed, "parent_number": 0}
    assert api.post(f"{branches}/main/revert", json=body).status_code == 204
    refs = branches.replace("branches", "refs")
    assert api.get(f"{refs}/main/objects", params={"path": "a"}).content == b"1"
    created = api.get(branches.replace("branches", "commits/main")).json()
    assert created["message"] == f"Revert {changed}"
    again = api.post(f"{branches}/main/revert", json=body)
    assert again.status_code == 400
    assert "no changes" in again.json()["message"]
    commit(api, branches, "a", b"3")
    assert api.post(f"{branches}/main/revert", json=body).status_code == 409
    assert (
        api.post(f"{branches}/main/revert", json={"ref": "nope", "parent_number": 0}).status_code
        == 404
    )
    assert api.post(f"{branches}/main/revert", json={"ref": "main"}).status_code == 400


def test_a_cherry_pick_applies_a_commit(api, branches):
    api.post(branches, json={"name": "dev", "source": "main"})
    picked = commit(api, branches, "a", b"1", "dev")
    created = api.post(f"{branches}/main/cherry-pick", json={"ref": "dev"})
    assert created.status_code == 201
    assert created.json()["message"] == "a=b'1'"
    assert created.json()["metadata"] == {
        "cherry-pick-origin": picked,
        "cherry-pick-committer": "tester",
    }
    overrides = {"message": "mine", "metadata": {"k": "v"}}
    commit(api, branches, "b", b"1", "dev")
    body = {"ref": "dev", "commit_overrides": overrides}
    created = api.post(f"{branches}/main/cherry-pick", json=body).json()
    assert (created["message"], created["metadata"]["k"]) == ("mine", "v")
    assert api.post(f"{branches}/main/cherry-pick", json={"ref": "nope"}).status_code == 404
