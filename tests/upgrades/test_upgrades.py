"""Installations that earlier versions have written are served as they were, and can be changed."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import httpx2
import pytest
from upgrades.installation import DATA, observe

from anabranch.testing.server import running_server

VERSIONS = sorted(path.parent for path in (Path(__file__).parent / "written").glob(f"*/{DATA}"))


@pytest.fixture(params=VERSIONS, ids=lambda folder: folder.name)
def written(request, tmp_path):
    """The folder of data that a version has written, and what its server said of it."""
    with tarfile.open(request.param / DATA) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data", json.loads((request.param / "observed.json").read_text())


def without_new_fields(now, then):
    """Leaves out of an answer the fields that it did not have then."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {name: without_new_fields(now.get(name), then[name]) for name in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [without_new_fields(*pair) for pair in zip(now, then, strict=True)]
    return now


def test_there_are_installations_of_earlier_versions():
    assert VERSIONS


def test_a_server_says_what_the_version_that_wrote_it_said(written):
    data, record = written
    with running_server(data) as server:
        observed = observe(server)
    assert without_new_fields(observed, record["observed"]) == record["observed"]


def test_keys_and_workspaces_go_on_working(written):
    data, record = written
    pair, workspace = record["keys"]["pair"], record["keys"]["workspace"]
    with running_server(data) as server, httpx2.Client(base_url=server.api, timeout=60) as api:
        own = (pair["access_key_id"], pair["secret_access_key"])
        assert api.get("/user", auth=own).json()["user"]["id"] == "lin"
        assert api.get("/repositories/sea/branches/main", auth=own).status_code == 200
        assert api.post("/repositories", auth=own, json={}).status_code in (400, 401, 403)
        token = {"Authorization": f"Bearer {workspace['token']}"}
        path = f"/repositories/sea/branches/{workspace['branch']}/objects"
        put = api.post(path, params={"path": "out/a"}, content=b"1", headers=token)
        # the workspace ends a month after it was made: then its keys are refused
        assert put.status_code in (201, 401), put.text


def test_it_can_be_changed_and_what_was_done_before_undone(written):
    data, _ = written
    with running_server(data) as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            sea = "/repositories/sea"
            message = {"message": "By a later version"}
            assert api.post(f"{sea}/branches/dev/commits", json=message).status_code == 201
            merged = api.post(f"{sea}/refs/dev/merge/main", json={"message": "Merge"})
            assert merged.status_code == 200, merged.text
            staged = api.get(f"{sea}/refs/main/objects", params={"path": "staged"})
            assert staged.content == b"not committed"
            restored = api.post(f"{sea}/operations/restore_branch", json={"name": "gone"})
            if restored.status_code == 200:  # within the days of undo
                lost = api.get(f"{sea}/refs/gone/objects", params={"path": "lost"})
                assert lost.content == b"not committed"
        found = fsck(data)
    assert found.returncode == 0, found.stdout + found.stderr


def fsck(data):
    """Verifies an installation by the command."""
    command = [sys.executable, "-m", "anabranch", "fsck", "--all", "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
