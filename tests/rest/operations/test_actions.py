"""Runs of hooks over HTTP: what `lakefs-sdk` does not show, and running hooks by hand."""

from __future__ import annotations

import json

import pytest
from support.hooks.hook_runs import ONLY_TABLES


@pytest.fixture
def guarded(api, repository):
    """A repository with an action, committed."""
    put(api, repository, "_lakefs_actions/tables.yaml", ONLY_TABLES.encode())
    assert commit(api, repository).status_code == 201
    return repository


def put(api, repository, path, content=b"x"):
    response = api.post(
        f"/repositories/{repository}/branches/main/objects",
        params={"path": path},
        content=content,
        headers={"content-type": "application/octet-stream"},
    )
    assert response.status_code == 201


def commit(api, repository):
    path = f"/repositories/{repository}/branches/main/commits"
    return api.post(path, json={"message": "a commit"})


def runs(api, repository):
    return api.get(f"/repositories/{repository}/actions/runs").json()["results"]


def test_a_skipped_hook_is_called_so_to_other_clients(api, guarded):
    put(api, guarded, "elsewhere/a.csv")
    assert commit(api, guarded).status_code == 412
    run_id = runs(api, guarded)[0]["run_id"]
    path = f"/repositories/{guarded}/actions/runs/{run_id}/hooks"
    hooks = api.get(path).json()["results"]
    assert [hook["status"] for hook in hooks] == ["failed", "skipped", "completed"]
    assert hooks[1]["start_time"] == "0001-01-01T00:00:00Z"
    output = api.get(f"{path}/0000_0001/output")
    assert (output.status_code, output.content) == (200, b"")
    assert output.headers["content-type"] == "application/octet-stream"
    assert output.headers["content-disposition"].startswith("attachment")


def test_hooks_can_be_run_by_hand_on_any_reference(api, guarded):
    put(api, guarded, "elsewhere/a.csv")
    path = f"/repositories/{guarded}/actions/trigger"
    failed = api.post(path, json={"ref": "main", "event_type": "pre-commit"}).json()
    assert failed["status"] == "failed"
    assert "failed on action 'only tables' hook 'only_tables'" in failed["failures"][0]
    assert runs(api, guarded)[0]["run_id"] == failed["run_id"]
    passed = api.post(path, json={"ref": "main@", "action": "only tables"}).json()
    assert (passed["status"], passed["failures"]) == ("completed", [])
    assert [hook["status"] for hook in passed["hooks"]] == ["completed", "completed", "skipped"]
    nothing = api.post(path, json={"ref": "main", "event_type": "post-merge"}).json()
    assert (nothing["run_id"], nothing["hooks"]) == ("", [])
    for body, status in [
        ({"ref": "main"}, 400),
        ({"ref": "main", "event_type": "commit"}, 400),
        ({"ref": "main", "action": "other"}, 404),
        ({"ref": "nowhere", "action": "only tables"}, 404),
    ]:
        assert api.post(path, json=body).status_code == status


def validated(api, repository, content):
    path = f"/repositories/{repository}/actions/validate"
    body = {"path": "_lakefs_actions/new.yaml", "content": content}
    response = api.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_an_action_file_is_checked_before_it_is_stored(api, repository):
    found = validated(api, repository, ONLY_TABLES)
    assert found["problem"] is None
    assert found["name"]
    assert [hook["type"] for hook in found["document"]["hooks"]]
    assert validated(api, repository, "on: {pre-commit: }\nhooks: []")["problem"] == {
        "line": 2,
        "field": "hooks",
        "message": "must have a hook",
        "hint": "",
    }


@pytest.mark.parametrize(
    ("hooks", "field", "message"),
    [
        ("{id: a, type: check}", "hooks[0].id", "is not an id"),
        ("{id: ab, type: wish}", "hooks[0].type", ""),
        ("{id: ab, type: webhook, properties: {url: 1}}", "hooks[0].properties.url", ""),
        (
            "{id: ab, type: check, properties: {tables: [{path: x, rows: {min: x}}]}}",
            "hooks[0].properties.tables",
            "",
        ),
        ("{id: ab, type: check, properties: {x: 1}}", "hooks[0].properties.x", ""),
    ],
)
def test_a_problem_has_the_field_that_is_wrong(api, repository, hooks, field, message):
    found = validated(api, repository, f"on: {{pre-commit: }}\nhooks: [{hooks}]")
    assert found["problem"]["field"] == field
    assert message in found["problem"]["message"]
    assert found["document"]["hooks"]


@pytest.mark.parametrize("content", ["a: [", "&a [*a]", "\0", "x" * 300_000, ""])
def test_what_is_no_action_file_has_a_problem_and_no_document(api, repository, content):
    path = f"/repositories/{repository}/actions/validate"
    response = api.post(
        path,
        content=json.dumps({"path": "new.yaml", "content": content}),
        headers={"content-type": "application/json"},
    )
    if len(content) > 256 << 10:
        assert response.status_code == 400
        return
    assert response.status_code == 200
    assert response.json()["document"] is None
    assert response.json()["problem"]["message"]
