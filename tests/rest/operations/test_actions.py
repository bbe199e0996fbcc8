"""Runs of hooks over HTTP: what `lakefs-sdk` does not show, and running hooks by hand."""

from __future__ import annotations

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
