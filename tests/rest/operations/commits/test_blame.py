"""Last changes of objects over HTTP."""

from __future__ import annotations

import pytest


@pytest.fixture
def blame(api, repository):
    """Returns the last change of each path: the message of its commit."""

    def request(reference="main", status=200, **params):
        response = api.get(
            f"/repositories/{repository}/refs/{reference}/objects/blame", params=params
        )
        assert response.status_code == status, response.text
        return response.json()

    return request


@pytest.fixture
def commit(api, repository):
    def commit(message, branch="main", *, put=(), delete=()):
        base = f"/repositories/{repository}/branches/{branch}"
        for path in put:
            sent = api.post(f"{base}/objects", params={"path": path}, content=message.encode())
            assert sent.status_code == 201
        for path in delete:
            assert api.delete(f"{base}/objects", params={"path": path}).status_code == 204
        created = api.post(f"{base}/commits", json={"message": message})
        assert created.status_code == 201
        return created.json()

    return commit


def messages(page):
    return {item["path"]: item["commit"]["message"] for item in page["results"]}


def test_each_object_has_the_commit_that_changed_it_last(blame, commit):
    commit("first", put=("a", "b/c", "b/d"))
    second = commit("second", put=("b/c", "e"))
    commit("third", delete=("e",))
    page = blame()
    assert messages(page) == {"a": "first", "b/c": "second", "b/d": "first"}
    assert page["results"][1] == {"path": "b/c", "path_type": "object", "commit": second}
    assert messages(blame("main~1"))["e"] == "second"


def test_common_prefix_has_the_last_commit_under_it_also_a_removal(blame, commit):
    commit("first", put=("a", "b/c", "b/d/e"))
    commit("second", put=("a",))
    commit("third", delete=("b/d/e",))
    page = blame(delimiter="/")
    assert messages(page) == {"a": "second", "b/": "third"}
    assert [item["path_type"] for item in page["results"]] == ["object", "common_prefix"]


def test_merge_leaves_an_object_to_the_commit_of_its_branch(api, repository, blame, commit):
    commit("first", put=("a", "b"))
    body = {"name": "side", "source": "main"}
    assert api.post(f"/repositories/{repository}/branches", json=body).status_code == 201
    commit("side", "side", put=("a",))
    commit("main", put=("b",))
    merged = api.post(f"/repositories/{repository}/refs/side/merge/main", json={"message": "merge"})
    assert merged.status_code == 200
    assert messages(blame()) == {"a": "side", "b": "main"}


def test_staged_changes_are_not_included(api, repository, blame, commit):
    commit("first", put=("a",))
    base = f"/repositories/{repository}/branches/main/objects"
    assert api.post(base, params={"path": "b"}, content=b"x").status_code == 201
    assert messages(blame()) == {"a": "first"}


def test_pages_continue_after_the_last_item(blame, commit):
    paths = [f"p{number}" for number in range(5)]
    commit("first", put=paths)
    all_messages, after = {}, ""
    for _ in range(3):
        page = blame(amount=2, after=after)
        all_messages |= messages(page)
        after = page["pagination"]["next_offset"]
    assert (list(all_messages), page["pagination"]["has_more"]) == (paths, False)


@pytest.mark.parametrize(
    ("reference", "params", "status"),
    [("none", {}, 404), ("main", {"amount": 5000}, 400), ("main$", {}, 400)],
)
def test_bad_request_is_refused(blame, reference, params, status):
    assert blame(reference, status, **params)["message"]
