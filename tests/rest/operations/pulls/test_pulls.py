"""Pull requests over HTTP: statuses, messages, comments, reviews and required approvals."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime

import httpx2
import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied
from anabranch.rest.protocol.call import Call, Request
from anabranch.rest.protocol.operation_handler import required_permissions
from anabranch.rest.protocol.parameters import AtPull
from anabranch.rest.protocol.services import Services
from anabranch.rest.table import OPERATIONS
from anabranch.testing.lake import lake_of
from anabranch.testing.server import USER_NAME, running_server

NOT_FOUND = (404, "pull request not found")
INVALID_ID = (
    400,
    "argument pullRequestID: pull request id: invalid value: validation error",
)


@pytest.fixture
def root(api, repository):
    """The path of a repository whose branch `side` is one commit ahead of `main`."""
    root = f"/repositories/{repository}"
    assert api.post(f"{root}/branches", json={"name": "side", "source": "main"}).status_code == 201
    push(api, root, "side", "a")
    return root


@pytest.fixture
def pulls(root):
    return f"{root}/pulls"


def push(api, root, branch, path):
    assert api.post(f"{root}/branches/{branch}/objects?path={path}", content=b"1").is_success
    created = api.post(f"{root}/branches/{branch}/commits", json={"message": path})
    return created.json()["id"]


def create(api, pulls, source="side", destination="main", **fields):
    body = {"title": "t", "source_branch": source, "destination_branch": destination, **fields}
    created = api.post(pulls, json=body)
    assert created.status_code == 201, created.text
    return created.json()["id"]


def refusal(response):
    return response.status_code, response.json()["message"]


def protect(api, root, *rules):
    response = api.put(f"{root}/settings/branch_protection", json=list(rules))
    assert response.status_code == 204, response.text


def test_a_pull_request_is_created_updated_and_merged(api, root, pulls):
    pull_id = create(api, pulls, description="d")
    pull = api.get(f"{pulls}/{pull_id}").json()
    created = datetime.fromisoformat(pull.pop("creation_date"))
    assert abs((datetime.now(UTC) - created).total_seconds()) < 60
    assert pull == {
        "status": "open",
        "title": "t",
        "description": "d",
        "id": pull_id,
        "author": USER_NAME,
        "source_branch": "side",
        "destination_branch": "main",
    }
    assert api.patch(f"{pulls}/{pull_id}", json={"title": "new"}).status_code == 204
    merged = api.put(f"{pulls}/{pull_id}/merge")
    assert merged.status_code == 200
    assert list(merged.json()) == ["reference"]
    pull = api.get(f"{pulls}/{pull_id}").json()
    assert pull["merged_commit_id"] == merged.json()["reference"]
    assert (pull["title"], pull["description"], pull["status"]) == ("new", "d", "merged")
    assert datetime.fromisoformat(pull["closed_date"]) >= created
    assert api.get(f"{root}/branches/main").json()["commit_id"] == pull["merged_commit_id"]


def test_merge_takes_the_options_of_a_merge(api, root, pulls):
    body = {"message": "m", "metadata": {"k": "v"}, "squash_merge": True, "strategy": "source-wins"}
    push(api, root, "main", "a")
    merged = api.put(f"{pulls}/{create(api, pulls)}/merge", json=body).json()["reference"]
    commit = api.get(f"{root}/commits/{merged}").json()
    assert (commit["message"], commit["metadata"]["k"], len(commit["parents"])) == ("m", "v", 1)


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"title": None}, 400, 'Error at "/title": '),
        ({"title": 1}, 400, 'Error at "/title": value must be a string'),
        ({"title": "x" * 1001}, 400, 'Error at "/title": maximum string length is 1000'),
        ({"description": "x" * 65_537}, 400, "maximum string length is 65536"),
        ({"description": []}, 400, 'Error at "/description": value must be a string'),
        ({"source_branch": "none"}, 404, "branch not found"),
        ({"destination_branch": "none"}, 404, "branch not found"),
        ({"source_branch": "main"}, 400, "same branch"),
        ({"source_branch": "side~1"}, 400, "argument branch: branch id: invalid value"),
        ({"source_branch": ""}, 400, "argument branch: branch id: invalid value"),
        ({"source_branch": "side/"}, 400, "argument branch: branch id: invalid value"),
    ],
)
@pytest.mark.sample(6)
def test_invalid_pull_request_is_not_created(api, pulls, changes, status, message):
    body = {"title": "t", "source_branch": "side", "destination_branch": "main", **changes}
    response = api.post(pulls, json=body)
    assert response.status_code == status
    assert message in response.json()["message"]
    assert api.get(pulls).json()["results"] == []


@pytest.mark.parametrize("missing", ["title", "source_branch", "destination_branch"])
def test_missing_field_is_named(api, pulls, missing):
    body = {"title": "t", "source_branch": "side", "destination_branch": "main"}
    del body[missing]
    response = api.post(pulls, json=body)
    assert response.status_code == 400
    assert f'property "{missing}" is missing' in response.json()["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"status": "ajar"}, "bad pull request status"),
        ({"status": ""}, "bad pull request status"),
        ({"status": "merged"}, "bad pull request status"),
        ({"status": 1}, 'Error at "/status": value must be a string'),
        ({"title": "x" * 1001, "status": "closed"}, "maximum string length is 1000"),
    ],
)
def test_invalid_update_changes_nothing(api, pulls, body, message):
    pull_id = create(api, pulls)
    before = api.get(f"{pulls}/{pull_id}").json()
    response = api.patch(f"{pulls}/{pull_id}", json=body)
    assert response.status_code == 400
    assert message in response.json()["message"]
    assert api.get(f"{pulls}/{pull_id}").json() == before


def test_status_is_read_in_any_case(api, pulls):
    pull_id = create(api, pulls)
    for status in ("Closed", "OPEN", "closed"):
        assert api.patch(f"{pulls}/{pull_id}", json={"status": status}).status_code == 204
        assert api.get(f"{pulls}/{pull_id}").json()["status"] == status.lower()
    assert "closed_date" in api.get(f"{pulls}/{pull_id}").json()


def test_conflict_leaves_the_pull_request_open(api, root, pulls):
    pull_id = create(api, pulls)
    assert api.post(f"{root}/branches/main/objects?path=a", content=b"2").is_success
    assert refusal(api.put(f"{pulls}/{pull_id}/merge"))[0] == 400  # uncommitted changes
    head = api.post(f"{root}/branches/main/commits", json={"message": "m"}).json()["id"]
    conflict = api.put(f"{pulls}/{pull_id}/merge")
    assert conflict.status_code == 409
    assert conflict.json()["reference"] == ""
    assert conflict.json()["conflicts"] == ["a"]
    assert api.get(f"{pulls}/{pull_id}").json()["status"] == "open"
    assert api.get(f"{root}/branches/main").json()["commit_id"] == head
    resolved = api.put(f"{pulls}/{pull_id}/merge", json={"strategy": "dest-wins"})
    assert resolved.status_code == 200


def test_a_merge_without_changes_and_a_second_merge_are_refused(api, pulls):
    pull_id, empty = create(api, pulls), create(api, pulls, "main", "side")
    assert refusal(api.put(f"{pulls}/{empty}/merge")) == (400, "update branch side: no changes")
    assert api.put(f"{pulls}/{pull_id}/merge").status_code == 200
    again = api.put(f"{pulls}/{pull_id}/merge")
    assert refusal(again) == (400, "bad pull request status")
    assert again.headers["x-anabranch-kind"] == "pull_request_merged"
    reopened = api.patch(f"{pulls}/{pull_id}", json={"status": "open"})
    assert refusal(reopened) == (400, "bad pull request status")


@pytest.mark.parametrize(
    ("pull_id", "expected"),
    [
        ("ceh8bs1ksduasdr2aobg", NOT_FOUND),
        *(
            (text, INVALID_ID)
            for text in ("CEH8BS1KSDUASDR2AOBG", "none", "%252e", "é", "x" * 2000)
        ),
    ],
)
def test_a_missing_pull_request_is_not_found(api, pulls, pull_id, expected):
    path = f"{pulls}/{pull_id}"
    responses = [
        api.get(path),
        api.patch(path, json={"title": "t"}),
        api.put(f"{path}/merge"),
        api.get(f"{path}/comments"),
        api.post(f"{path}/comments", json={"text": "t"}),
        api.get(f"{path}/reviews"),
        api.post(f"{path}/reviews", json={"state": "approved"}),
    ]
    assert {refusal(response) for response in responses} == {expected}


def test_pull_request_of_another_repository_does_not_exist(api, pulls, new_repository):
    pull_id, other = create(api, pulls), new_repository()
    assert refusal(api.get(f"/repositories/{other}/pulls/{pull_id}")) == NOT_FOUND
    assert refusal(api.put(f"/repositories/{other}/pulls/{pull_id}/merge")) == NOT_FOUND
    for path in ("/repositories/no-such/pulls", f"/repositories/no-such/pulls/{pull_id}"):
        assert refusal(api.get(path)) == (404, "repository not found")


def test_pages_list_pull_requests_of_a_status(api, pulls):
    ids = [create(api, pulls, title=str(number)) for number in range(7)]
    # a squash merge leaves the others of its branches open
    assert api.put(f"{pulls}/{ids[3]}/merge", json={"squash_merge": True}).status_code == 200
    for number in (1, 5):
        assert api.patch(f"{pulls}/{ids[number]}", json={"status": "closed"}).status_code == 204
    expected = {"open": [6, 4, 2, 0], "closed": [5, 3, 1], "all": [6, 5, 4, 3, 2, 1, 0]}
    for status, numbers in expected.items():
        seen, after = [], ""
        while True:
            page = api.get(pulls, params={"status": status, "after": after, "amount": 2}).json()
            assert page["pagination"]["results"] == len(page["results"]) <= 2
            seen += [item["id"] for item in page["results"]]
            if not page["pagination"]["has_more"]:
                break
            after = page["pagination"]["next_offset"]
            assert after == seen[-1]
        assert seen == [ids[number] for number in numbers]
    assert len(api.get(pulls).json()["results"]) == 7
    assert len(api.get(pulls, params={"prefix": ids[0]}).json()["results"]) == 1
    for params in ({"status": "merged"}, {"status": ""}, {"amount": 1001}, {"amount": "x"}):
        assert api.get(pulls, params=params).status_code == 400


def test_comments_are_created_and_listed(api, pulls):
    path = f"{pulls}/{create(api, pulls)}/comments"
    first = api.post(path, json={"text": "one"})
    assert first.status_code == 201
    assert first.json().keys() == {"id", "author", "text", "creation_date"}
    api.post(path, json={"text": "zwei ü\n", "path": "a/b"})
    comments = api.get(path).json()["results"]
    assert [(item["text"], item.get("path")) for item in comments] == [
        ("one", None),
        ("zwei ü\n", "a/b"),
    ]
    page = api.get(path, params={"amount": 1}).json()
    assert page["pagination"]["next_offset"] == comments[0]["id"]
    assert api.get(path, params={"after": comments[0]["id"]}).json()["results"] == comments[1:]
    for body in (
        {},
        {"text": ""},
        {"text": "  "},
        {"text": 1},
        {"text": "x" * 65_537},
        {"text": "t", "path": "x" * 1025},
        {"text": "t", "path": "é" * 600},
    ):
        assert api.post(path, json=body).status_code == 400
    assert api.get(path).json()["results"] == comments


def test_invalid_reviews_are_rejected(api, root, pulls):
    pull_id = create(api, pulls)
    path = f"{pulls}/{pull_id}/reviews"
    for body in (
        {},
        {"state": ""},
        {"state": "Approved"},
        {"state": 1},
        {"state": "approved", "text": "x" * 65_537},
        {"state": "approved", "commit_id": "x" * 65},
    ):
        assert api.post(path, json=body).status_code == 400
    old = {"state": "approved", "commit_id": api.get(f"{root}/branches/main").json()["commit_id"]}
    response = api.post(path, json=old)
    assert (response.status_code, response.headers["x-anabranch-kind"]) == (409, "source_moved")
    api.patch(f"{pulls}/{pull_id}", json={"status": "closed"})
    response = api.post(path, json={"state": "approved"})
    assert refusal(response) == (400, "bad pull request status")
    assert api.get(path).json()["results"] == []


def test_rules_keep_approvals_that_a_request_does_not_name(api, root):
    path = f"{root}/settings/branch_protection"
    main = {"pattern": "main", "required_approvals": 2}
    protect(api, root, main, {"pattern": "other", "required_approvals": 0})
    assert api.get(path).json() == [main, {"pattern": "other"}]
    protect(api, root, {"pattern": "main"}, {"pattern": "new"})
    assert api.get(path).json() == [main, {"pattern": "new"}]
    older = f"{root}/branch_protection"
    for rule in ({"pattern": "main"}, {"pattern": "third", "required_approvals": 10}):
        assert api.post(older, json=rule).status_code == 204
    assert api.get(older).json() == [main, {"pattern": "new"}, {**rule}]
    assert api.request("DELETE", older, json={"pattern": "third"}).status_code == 204
    assert api.get(path).json() == [main, {"pattern": "new"}]
    for approvals in (-1, 11, "2", 1.5, None):
        rule = {"pattern": "main", "required_approvals": approvals}
        assert api.put(path, json=[rule]).status_code == 400
    assert api.get(path).json() == [main, {"pattern": "new"}]
    protect(api, root, {"pattern": "main", "required_approvals": 0})
    assert api.get(path).json() == [{"pattern": "main"}]


def test_an_approval_by_the_author_does_not_count(api, root, pulls):
    protect(api, root, {"pattern": "main", "required_approvals": 1})
    pull_id = create(api, pulls)
    reviews = f"{pulls}/{pull_id}/reviews"
    created = api.post(reviews, json={"state": "approved"})
    assert (created.status_code, created.json()["counts"]) == (201, False)
    merged = api.put(f"{pulls}/{pull_id}/merge", json={"force": True})
    assert refusal(merged) == (403, "1 of 1 required approval is missing")
    assert merged.headers["x-anabranch-kind"] == "approvals_missing"
    direct = api.post(f"{root}/refs/side/merge/main", json={"force": True})
    assert direct.status_code == 403
    assert direct.headers["x-anabranch-kind"] == "pull_request_required"
    assert "pull request" in direct.headers["x-anabranch-hint"]
    listed = api.get(reviews).json()
    assert (listed["approvals"], listed["required_approvals"]) == (0, 1)


def test_approval_of_another_user_counts_until_the_source_moves(tmp_path):
    with (
        running_server(tmp_path) as server,
        lake_of(tmp_path) as lake,
        httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as api,
    ):
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "side", "main")
        root = "/repositories/sea"
        first = push(api, root, "side", "a")
        protect(api, root, {"pattern": "main", "required_approvals": 1})
        pull = lake.pulls.create("sea", title="t", source="side", destination="main", author="jane")
        path = f"{root}/pulls/{pull.id}"
        approval = {"state": "approved", "commit_id": first}
        assert api.post(f"{path}/reviews", json=approval).json()["counts"]
        second = push(api, root, "side", "b")
        assert refusal(api.put(f"{path}/merge"))[0] == 403
        assert api.post(f"{path}/reviews", json={**approval, "commit_id": second}).is_success
        listed = api.get(f"{path}/reviews").json()
        assert (listed["approvals"], listed["commit_id"]) == (1, second)
        assert [item["counts"] for item in listed["results"]] == [False, True]
        assert api.put(f"{path}/merge").status_code == 200
        assert lake.pulls.get("sea", pull.id).source_commit_id == second


@pytest.mark.parametrize(("branch", "allowed"), [("main", True), ("side", False)])
def test_merge_needs_the_permission_to_commit_to_the_destination(tmp_path, branch, allowed):
    (operation,) = [each for each in OPERATIONS if each.id == "mergePullRequest"]
    statements = tuple(
        Statement(Effect.ALLOW, (action,), (f"arn:lakefs:fs:::repository/sea{rest}",))
        for action, rest in (("pr:*", ""), ("fs:CreateCommit", f"/branch/{branch}"))
    )
    actor = Actor(username="jane", statements=statements)
    with lake_of(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "side", "main")
        pull = lake.pulls.create("sea", title="t", source="side", destination="main", author="a")
        services = Services(**{**dict.fromkeys(Services._fields), "catalog": lake})
        params = AtPull(repository="sea", pull_request=pull.id)
        call = Call(services, Request({}, "", {}), params, None, actor)
        with nullcontext() if allowed else pytest.raises(Denied, match="insufficient permissions"):
            authorize(actor, required_permissions(operation.permission, call))
