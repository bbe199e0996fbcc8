"""The audit log names the workspace and its run, also for what its keys try outside."""

from __future__ import annotations

import pytest
from support.eventually import eventually

from anabranch.audit.chain import parse_line
from anabranch.testing.server import running_server
from tests.server.access.conftest import Team
from tests.server.access.workspaces.conftest import make_intruder, make_world, put
from tests.server.observability.complete_lines import complete_lines


@pytest.fixture
def audited(tmp_path):
    file = tmp_path / "audit.log"
    with running_server(tmp_path, env={"ANABRANCH_AUDIT_FILE": str(file)}) as server:
        yield Team(server), file


def test_records_have_workspace_and_run(audited):
    team, file = audited
    intruder = make_intruder(team, make_world(team))
    world = intruder.world
    put(intruder.api, world.repository, world.workspace, "out/a.csv", b"a")
    intruder.s3.put_object(Bucket=world.repository, Key=f"{world.workspace}/out/b.csv", Body=b"b")
    place = f"/repositories/{world.repository}/refs/{world.workspace}/objects"
    refused = intruder.api.get(place, params={"path": "secret/a.csv"})
    outside = intruder.api.get(
        f"/repositories/{world.repository}/refs/main/objects", params={"path": "in/a.csv"}
    )
    assert (refused.status_code, outside.status_code) == (401, 403)

    def of_workspace():
        lines = [parse_line(line) for line in complete_lines(file)]
        return [each for each in lines if each.get("workspace") == world.workspace]

    ids = [each.headers["x-request-id"] for each in (refused, outside)]
    eventually(lambda: {each["request_id"] for each in of_workspace()} >= set(ids))
    records = of_workspace()
    assert {each["run"] for each in records} == {"run-1"}
    assert {each["user"] for each in records} == {"tester"}
    changes = [each for each in records if each["event"] == "change"]
    assert [each["operation"] for each in changes] == ["uploadObject", "PutObject"]
    denied = [each for each in records if each.get("allowed") is False]
    assert [(each["action"], each["policy"]) for each in denied] == [
        ("fs:ReadObject", f"workspace {world.workspace}"),
        ("workspace:Reach", f"workspace {world.workspace}"),
    ]
