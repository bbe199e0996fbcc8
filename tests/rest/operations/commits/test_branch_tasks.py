"""Asynchronous commits and merges have the results of the synchronous operations."""

from __future__ import annotations

import time
import uuid

import httpx2
import pytest

from anabranch import errors
from anabranch.pipelines.branch_tasks.branch_job import http_status
from anabranch.rest.protocol.errors import STATUS_BY_CLASS, status_for

DEADLINE_SECONDS = 30


@pytest.fixture
def send(api, repository):
    """Sends a request about the repository."""

    def call(method, path, body=None, **headers):
        return api.request(method, f"/repositories/{repository}{path}", json=body, headers=headers)

    return call


@pytest.fixture
def put(api, repository):
    """Uploads an object."""

    def upload(path, content=b"1", branch="main"):
        url = f"/repositories/{repository}/branches/{branch}/objects"
        assert api.post(url, params={"path": path}, content=content).status_code == 201

    return upload


@pytest.fixture
def completed(send):
    """Returns the status of a task that has been started, once it is completed."""

    def wait(path, started):
        assert started.status_code == 202, started.text
        task_id = started.json()["id"]
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            status = send("GET", f"{path}/{task_id}/status")
            assert status.status_code == 200, status.text
            assert status.json()["task_id"] == task_id
            if status.json()["completed"]:
                return status.json()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    return wait


COMMIT = "/branches/main/commits/async"
MERGE = "/refs/side/merge/main/async"


def side_with(send, put, path, content=b"2"):
    assert send("POST", "/branches", {"name": "side", "source": "main"}).status_code == 201
    put(path, content, "side")
    assert send("POST", "/branches/side/commits", {"message": "side"}).status_code == 201


def test_a_completed_commit_is_the_head_of_its_branch(send, put, completed):
    put("a")
    body = {"message": "one", "metadata": {"k": "v"}, "date": 1_700_000_000}
    status = completed(COMMIT, send("POST", COMMIT, body))
    head = send("GET", "/commits/main").json()
    assert status["result"] == head
    assert (head["message"], head["metadata"], head["creation_date"]) == (
        "one",
        {"k": "v"},
        1_700_000_000,
    )
    assert "error" not in status
    assert "status_code" not in status


def test_a_commit_without_changes_has_the_status_of_the_synchronous_operation(send, completed):
    refused = send("POST", "/branches/main/commits", {"message": "none"})
    status = completed(COMMIT, send("POST", COMMIT, {"message": "none"}))
    assert (status["status_code"], status["error"]) == (refused.status_code, refused.json())
    assert status["status_code"] == 400
    for name in ("kind", "hint"):
        assert status[f"error_{name}"] == refused.headers[f"X-Anabranch-{name}"]
    assert "result" not in status
    allowed = completed(COMMIT, send("POST", COMMIT, {"message": "none", "allow_empty": True}))
    assert allowed["result"] == send("GET", "/commits/main").json()


def test_a_completed_merge_is_the_head_of_its_destination(send, put, completed):
    side_with(send, put, "b")
    status = completed(MERGE, send("POST", MERGE, {"message": "merged"}))
    head = send("GET", "/commits/main").json()
    assert status["result"] == {"reference": head["id"]}
    assert head["message"] == "merged"
    assert len(head["parents"]) == 2


def test_a_merge_needs_no_body(send, put, completed):
    side_with(send, put, "b")
    assert completed(MERGE, send("POST", MERGE))["result"]["reference"]


def test_a_merge_with_conflicts_has_status_409_and_changes_nothing(send, put, completed):
    put("a")
    assert send("POST", "/branches/main/commits", {"message": "base"}).status_code == 201
    side_with(send, put, "a", b"theirs")
    put("a", b"ours")
    assert send("POST", "/branches/main/commits", {"message": "ours"}).status_code == 201
    head = send("GET", "/branches/main").json()
    status = completed(MERGE, send("POST", MERGE, {}))
    assert (status["status_code"], status["error"]) == (409, {"message": "conflict found"})
    assert send("GET", "/branches/main").json() == head
    won = completed(MERGE, send("POST", MERGE, {"strategy": "source-wins"}))
    assert won["result"]["reference"] == send("GET", "/branches/main").json()["commit_id"]


def test_a_missing_branch_or_repository_is_refused_immediately(send, api):
    assert send("POST", "/branches/none/commits/async", {"message": "m"}).status_code == 404
    assert send("POST", "/refs/main/merge/none/async", {}).status_code == 404
    url = "/repositories/none-such/branches/main/commits/async"
    assert api.post(url, json={"message": "m"}).status_code == 404
    assert send("POST", COMMIT, {}).status_code == 400


def test_a_merge_from_a_missing_source_has_status_404(send, completed):
    path = "/refs/none/merge/main/async"
    status = completed(path, send("POST", path, {}))
    assert status["status_code"] == 404
    assert status["error"] == send("POST", "/refs/none/merge/main", {}).json()


def test_a_read_only_repository_refuses_tasks_immediately(api):
    name = f"read-only-{uuid.uuid4().hex}"
    body = {"name": name, "storage_namespace": f"local://{name}", "read_only": True}
    assert api.post("/repositories", json=body).status_code == 201
    base = f"/repositories/{name}"
    for path in (f"{base}{COMMIT}", f"{base}/refs/main/merge/main/async"):
        refused = api.post(path, json={"message": "m"})
        assert (refused.status_code, refused.json()) == (403, {"message": "read-only repository"})
        assert api.post(path, json={"message": "m", "force": True}).status_code == 202


def test_status_of_other_tasks_repositories_and_branches_is_404(
    send, put, completed, api, new_repository
):
    put("a")
    started = send("POST", COMMIT, {"message": "m"})
    completed(COMMIT, started)
    task_id = started.json()["id"]
    assert send("POST", "/branches", {"name": "side", "source": "main"}).status_code == 201
    for path in (
        f"{COMMIT}/none/status",
        f"{COMMIT}/{task_id}x/status",
        f"/branches/side/commits/async/{task_id}/status",
        f"/refs/main/merge/main/async/{task_id}/status",
    ):
        missing = send("GET", path)
        assert (missing.status_code, missing.headers["x-anabranch-kind"]) == (404, "task_not_found")
    other = new_repository()
    assert api.get(f"/repositories/{other}{COMMIT}/{task_id}/status").status_code == 404


def test_tasks_are_refused_without_credentials(server, repository):
    with httpx2.Client(base_url=server.api) as anonymous:
        for path in (COMMIT, MERGE):
            url = f"/repositories/{repository}{path}"
            assert anonymous.post(url, json={"message": "m"}).status_code == 401
            assert anonymous.get(f"{url}/some/status").status_code == 401


def test_a_request_with_a_key_starts_one_task(send, put, completed):
    put("a")
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first = send("POST", COMMIT, {"message": "once"}, **headers)
    again = send("POST", COMMIT, {"message": "once"}, **headers)
    assert again.json() == first.json()
    assert again.status_code == 202
    assert again.headers["Idempotency-Replayed"] == "true"
    assert send("POST", COMMIT, {"message": "other"}, **headers).status_code == 422
    completed(COMMIT, first)
    log = send("GET", "/refs/main/commits").json()["results"]
    assert [commit["message"] for commit in log].count("once") == 1


def test_concurrent_tasks_on_one_branch_are_all_executed(send, completed):
    started = [
        send("POST", COMMIT, {"message": f"{number}", "allow_empty": True}) for number in range(12)
    ]
    ids = {completed(COMMIT, task)["result"]["id"] for task in started}
    log = send("GET", "/refs/main/commits").json()["results"]
    assert ids == {commit["id"] for commit in log[:12]}


def test_the_status_of_an_error_is_that_of_the_synchronous_operation():
    for cls in STATUS_BY_CLASS:
        early = (errors.RangeNotSatisfiable, errors.Unauthenticated, errors.Throttled)
        if cls in (*early, errors.Truncated):
            continue  # these are raised before a task starts
        error = cls("message")
        assert http_status(error) == status_for(error)
