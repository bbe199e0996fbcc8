"""Messages of errors are those of lakeFS 1.84, which lakectl shows and scripts match."""

from __future__ import annotations

import pytest

INVALID_REF = "ref: invalid value: validation error"


@pytest.fixture(scope="module")
def home(api, new_repository):
    """`main` has three commits; `dev`, from the second, changed the file of the third."""
    home = f"/repositories/{new_repository()}"

    def commit(branch, path, content):
        api.post(f"{home}/branches/{branch}/objects?path={path}", content=content)
        created = api.post(f"{home}/branches/{branch}/commits", json={"message": path})
        assert created.status_code == 201, created.text

    commit("main", "a", b"1")
    assert api.post(f"{home}/branches", json={"name": "dev", "source": "main"}).is_success
    commit("main", "b", b"1")
    commit("dev", "b", b"2")
    return home


def revert(ref, branch="main"):
    return f"/branches/{branch}/revert", {"ref": ref, "parent_number": 0}


def pick(ref, branch="main", **fields):
    return f"/branches/{branch}/cherry-pick", {"ref": ref, **fields}


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (pick("main", "dev"), 409, "update branch: conflict found"),
        (revert("main", "dev"), 409, "update branch: conflict found"),
        (pick("main~2"), 400, "parent 1: given commit does not have the given parent number"),
        (revert("nope"), 404, "get commit from ref nope: not found"),
        (revert("main~9"), 404, "get commit from ref main~9: not found"),
        (pick("nope"), 404, "get commit from ref nope: not found"),
        (pick("main^2"), 400, f"get commit from ref main^2: {INVALID_REF}"),
        (revert("main^2"), 400, f"get commit from ref main^2: {INVALID_REF}"),
        (revert("main", "nope"), 404, "branch not found"),
        (pick("main", "nope"), 404, "branch not found"),
        (revert("nope", "nope"), 404, "get commit from ref nope: not found"),
        (pick("main", parent_number=2), 400, "parent 2: given commit does not have the given "),
        (
            pick("main", parent_number=0),
            400,
            "argument parentNumber: value should be greater than 0: invalid value",
        ),
        (("/refs/main/merge/main", {}), 400, "update branch main: no changes"),
        (("/refs/dev/merge/main", {}), 409, "conflict found"),
        (
            ("/refs/nope/merge/main", {}),
            404,
            "update branch main: get commit by ref nope: not found",
        ),
        (("/branches", {"name": "x", "source": "nope"}), 404, "source reference 'nope': not found"),
        (
            ("/branches", {"name": "x", "source": "main^2"}),
            400,
            f"source reference 'main^2': {INVALID_REF}",
        ),
        (("/branches", {"name": "-x", "source": "main"}), 400, "argument branch: branch id: inv"),
        (("/tags", {"id": "a b", "ref": "main"}), 400, "argument tagID: tag id: invalid value"),
        (("/tags", {"id": "", "ref": "main"}), 400, "argument tagID: required value"),
        (("/tags", {"id": "main", "ref": "main"}), 409, "branch name main: conflict found"),
    ],
)
def test_a_refused_change_has_the_message_of_lakefs(api, home, request_, status, message):
    path, body = request_
    response = api.post(home + path, json=body)
    assert response.status_code == status
    assert response.json()["message"].startswith(message)


def test_a_revert_without_effect_is_refused_as_no_changes(api, home):
    head = api.get(f"{home}/branches/main").json()
    created = api.post(home + revert("main")[0], json=revert("main")[1])
    assert created.status_code == 204
    again = api.post(home + revert("main~1")[0], json=revert("main~1")[1])
    assert (again.status_code, again.json()["message"]) == (400, "update branch: no changes")
    back = api.put(f"{home}/branches/main/hard_reset", params={"ref": head["commit_id"]})
    assert back.status_code == 204


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/refs/nope/commits", "ref: not found"),
        ("/refs/main~99/commits", "ref: not found"),
        ("/refs/nope/diff/main", "get commit by branch nope: not found"),
        ("/refs/main/diff/nope", "get commit by ref nope: not found"),
        ("/refs/nope/merge/main", "get commit by branch nope: not found"),
        ("/refs/main/merge/nope", "get commit by ref nope: not found"),
        ("/refs/nope/objects/ls", "not found"),
        ("/commits/nope", "commit not found"),
        ("/branches/nope", "branch not found"),
        ("/tags/nope", "tag not found"),
    ],
)
def test_a_missing_item_has_the_message_of_lakefs(api, home, path, message):
    response = api.get(home + path)
    assert (response.status_code, response.json()) == (404, {"message": message})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("reset", "branch not found"),
        ("common_prefix", "branch not found"),
        ("object", "getting branch: branch not found"),
    ],
)
def test_a_reset_of_a_missing_branch_has_the_message_of_lakefs(api, home, kind, message):
    response = api.put(f"{home}/branches/nope", json={"type": kind, "path": "a"})
    assert (response.status_code, response.json()) == (404, {"message": message})


def test_dirty_branch_is_reported_before_a_missing_source(api, home):
    merge = f"{home}/refs/nope/merge/dev"
    api.post(f"{home}/branches/dev/objects?path=dirty", content=b"x")
    dirty = api.post(merge, json={})
    assert (dirty.status_code, dirty.json()["message"]) == (
        400,
        "uncommitted changes (dirty branch)",
    )
    api.put(f"{home}/branches/dev", json={"type": "reset"})
    clean = api.post(merge, json={})
    assert (clean.status_code, clean.json()["message"]) == (
        404,
        "update branch dev: get commit by ref nope: not found",
    )


def test_missing_reference_is_reported_before_a_hard_reset_of_a_dirty_branch(api, home):
    api.post(f"{home}/branches/dev/objects?path=dirty", content=b"x")
    reset = f"{home}/branches/dev/hard_reset"
    assert api.put(reset, params={"ref": "nope"}).status_code == 404
    assert api.put(reset, params={"ref": "main"}).status_code == 400
    api.put(f"{home}/branches/dev", json={"type": "reset"})


@pytest.mark.parametrize("source", ["nope", "main^2", "main$"])
def test_name_conflict_is_reported_before_an_invalid_source(api, home, source):
    api.post(f"{home}/tags", json={"id": "used", "ref": "main"})
    branch = api.post(f"{home}/branches", json={"name": "used", "source": source})
    assert (branch.status_code, branch.json()["message"]) == (409, "tag ID used: conflict found")
    tag = api.post(f"{home}/tags", json={"id": "dev", "ref": source})
    assert (tag.status_code, tag.json()["message"]) == (409, "branch name dev: conflict found")


def test_the_hint_names_the_missing_reference(api, home):
    hint = api.get(f"{home}/refs/main~99/commits").headers["x-anabranch-hint"]
    assert "has no parent" in hint
    assert "nope" in api.get(f"{home}/refs/nope/commits").headers["x-anabranch-hint"]


def test_missing_reference_is_reported_before_a_dirty_branch(api, home):
    api.post(f"{home}/branches/dev/objects?path=dirty", content=b"x")
    path, body = pick("nope", "dev")
    response = api.post(home + path, json=body)
    assert response.json()["message"] == "get commit from ref nope: not found"
    assert api.post(home + path, json={"ref": "main"}).json()["message"] == (
        "uncommitted changes (dirty branch)"
    )
    api.put(f"{home}/branches/dev", json={"type": "reset"})
