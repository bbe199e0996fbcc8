"""Requests with an Idempotency-Key make a change once, and repetitions get its response."""

from __future__ import annotations

import itertools
import json
import uuid

import httpx2
import pytest

from anabranch.rest.operations.commits import history_edits
from anabranch.rest.operations.pulls import reviews
from anabranch.rest.table import OPERATIONS

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
BASE = "/repositories/{repository}"

_numbers = itertools.count(1)


@pytest.fixture
def key():
    return str(uuid.uuid4())


@pytest.fixture
def send(api, repository):
    """Sends a request about the repository."""

    def call(method, path, body=None, key=None, client=api, **headers):
        url = BASE.format(repository=repository) + path
        if key is not None:
            headers[HEADER] = key
        return client.request(method, url, json=body, headers=headers)

    return call


@pytest.fixture
def put(api, repository):
    def upload(branch="main"):
        name = f"o-{next(_numbers)}"
        url = f"{BASE.format(repository=repository)}/branches/{branch}/objects?path={name}"
        assert api.post(url, content=name.encode()).status_code == 201

    return upload


def commits(send, branch="main"):
    return [commit["id"] for commit in send("GET", f"/refs/{branch}/commits").json()["results"]]


def prepared(send, put):
    """Commits twice on a branch and once on `main`."""
    for branch in ("side", "main"):
        if branch == "side":
            assert send("POST", "/branches", {"name": "side", "source": "main"}).status_code == 201
        put(branch)
        assert send("POST", f"/branches/{branch}/commits", {"message": branch}).status_code == 201


KEYED = {
    "commit": ("POST", "/branches/main/commits", {"message": "one"}),
    "mergeIntoBranch": ("POST", "/refs/side/merge/main", {}),
    "revertBranch": ("POST", "/branches/main/revert", {"ref": "main", "parent_number": 0}),
    "cherryPick": ("POST", "/branches/main/cherry-pick", {"ref": "side"}),
    "revertCommits": ("POST", "/branches/main/reverts", {"refs": ["main"]}),
    "rebaseBranch": ("POST", "/branches/side/rebase", {"onto": "main"}),
    "hardResetBranch": ("PUT", "/branches/main/hard_reset?ref=main~1", None),
    "createBranch": ("POST", "/branches", {"name": "new", "source": "main"}),
    "deleteBranch": ("DELETE", "/branches/side", None),
    "createTag": ("POST", "/tags", {"id": "v1", "ref": "main"}),
    "deleteTag": ("DELETE", "/tags/v0", None),
    "createPullRequest": (
        *("POST", "/pulls"),
        {"title": "t", "source_branch": "side", "destination_branch": "main"},
    ),
    "updatePullRequest": ("PATCH", "/pulls/PULL", {"status": "closed"}),
    "mergePullRequest": ("PUT", "/pulls/PULL/merge", {}),
    "createPullRequestComment": ("POST", "/pulls/PULL/comments", {"text": "t"}),
    "createPullRequestReview": ("POST", "/pulls/PULL/reviews", {"state": "approved"}),
}
STATE = ("/branches", "/tags", "/refs/main/commits", "/pulls")


def test_every_keyed_operation_is_tested():
    operations = (*OPERATIONS, *history_edits.EXTENSIONS, *reviews.OPERATIONS)
    assert {operation.id for operation in operations if operation.keyed} == KEYED.keys()


@pytest.mark.sample(8)
@pytest.mark.parametrize("operation", KEYED)
def test_a_repeated_request_is_executed_once(send, put, key, operation):
    prepared(send, put)
    assert send("POST", "/tags", {"id": "v0", "ref": "main"}).status_code == 201
    if operation == "commit":
        put()
    pull = {"title": "t", "source_branch": "side", "destination_branch": "main"}
    pull_id = send("POST", "/pulls", pull).json()["id"]
    places = [*STATE, f"/pulls/{pull_id}/comments", f"/pulls/{pull_id}/reviews"]
    method, path, body = KEYED[operation]
    path = path.replace("PULL", pull_id)
    first = send(method, path, body, key)
    assert first.status_code in (200, 201, 204), first.text
    assert REPLAYED not in first.headers
    state = [send("GET", place).json() for place in places]
    for _ in range(2):
        again = send(method, path, body, key)
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers.get("content-type") == first.headers.get("content-type")
        assert again.headers[REPLAYED] == "true"
    after = [send("GET", place).json() for place in places]
    assert after == state


def test_a_repeated_deletion_does_not_delete_a_new_branch(send, key):
    """The branch was created again between the deletion and its repetition."""
    side = {"name": "side", "source": "main"}
    assert send("POST", "/branches", side).status_code == 201
    assert send("DELETE", "/branches/side", key=key).status_code == 204
    assert send("POST", "/branches", side).status_code == 201
    assert send("DELETE", "/branches/side", key=key).status_code == 204
    assert send("GET", "/branches/side").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/branches/main/commits", {"message": "two", "allow_empty": True}),
        ("/branches/main/commits", {"message": "one"}),
        ("/branches/side/commits", {"message": "one", "allow_empty": True}),
        ("/branches", {"name": "b", "source": "main"}),
        ("/branches/main/commits?source_metarange=x", {"message": "one", "allow_empty": True}),
    ],
)
def test_a_key_reused_for_another_request_is_refused(send, key, path, body):
    assert send("POST", "/branches", {"name": "side", "source": "main"}).status_code == 201
    one = {"message": "one", "allow_empty": True}
    assert send("POST", "/branches/main/commits", one, key).status_code == 201
    before = commits(send)
    refused = send("POST", path, body, key)
    assert refused.status_code == 422
    assert refused.headers["X-Anabranch-Kind"] == "idempotency_key_reused"
    assert commits(send) == before
    assert send("GET", "/branches/b").status_code == 404


def test_equal_bodies_in_different_spellings_are_one_request(api, send, key, repository):
    url = f"{BASE.format(repository=repository)}/branches/main/commits"
    body = {"message": "m", "allow_empty": True, "metadata": {"a": "1", "b": "2"}}
    reordered = {
        "metadata": {"b": "2", "a": "1"},
        "force": False,
        "allow_empty": True,
        "message": "m",
    }
    responses = {
        api.post(
            url, content=content, headers={HEADER: key, "Content-Type": "application/json"}
        ).json()["id"]
        for content in (json.dumps(body), json.dumps(reordered), json.dumps(body, indent=4))
    }
    assert len(responses) == 1
    assert len(commits(send)) == 2


def test_a_failed_request_is_executed_again(send, put, key):
    one = {"message": "one"}
    for _ in range(2):
        assert send("POST", "/branches/main/commits", one, key).status_code == 400
    put()
    created = send("POST", "/branches/main/commits", one, key)
    assert created.status_code == 201
    assert REPLAYED not in created.headers
    tag = {"id": "v1", "ref": "main"}
    assert send("POST", "/tags", tag).status_code == 201
    other = str(uuid.uuid4())
    assert send("POST", "/tags", tag, other).status_code == 409
    assert send("DELETE", "/tags/v1").status_code == 204
    assert send("POST", "/tags", tag, other).status_code == 201
    assert send("POST", "/tags", tag, other).status_code == 201


def test_quotes_around_a_key_are_not_part_of_it(send):
    empty = {"message": "m", "allow_empty": True}
    for number, (one, other) in enumerate(
        [("plain", '"plain"'), ('"a b"', '"a b"'), ('"a\\"b\\\\"', '"a\\"b\\\\"')]
    ):
        created = [send("POST", "/branches/main/commits", empty, key) for key in (one, other)]
        assert [reply.status_code for reply in created] == [201, 201]
        assert created[0].json()["id"] == created[1].json()["id"]
        assert len(commits(send)) == number + 2


@pytest.mark.parametrize("key", ['""', '"', "a b", '"a', 'a"b', "x" * 256, '"\\a"', "é", "a, b"])
def test_invalid_key_is_rejected(send, key):
    empty = {"message": "m", "allow_empty": True}
    refused = send("POST", "/branches/main/commits", empty, key.encode("latin-1"))
    assert refused.status_code == 400
    assert refused.headers["X-Anabranch-Kind"] == "invalid_idempotency_key"
    assert len(commits(send)) == 1


def test_a_repeated_request_needs_credentials(server, send, key):
    empty = {"message": "m", "allow_empty": True}
    assert send("POST", "/branches/main/commits", empty, key).status_code == 201
    with httpx2.Client(base_url=server.api, timeout=30) as anonymous:
        assert (
            send("POST", "/branches/main/commits", empty, key, client=anonymous).status_code == 401
        )


def test_other_operations_ignore_the_key(send, key):
    assert send("GET", "/branches/main", key=key).status_code == 200
    assert send("GET", "/branches/main", key="not a key").status_code == 200
