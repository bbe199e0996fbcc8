"""`workspaces.auto_merge` on a server: keys merge where it says so, as their creator may."""

from __future__ import annotations

import pytest

from anabranch.testing.server import running_server
from tests.server.access.conftest import Team, deny
from tests.server.access.workspaces.conftest import commit, make_intruder, make_world, put


@pytest.fixture
def team_with_rule(tmp_path):
    env = {"ANABRANCH_WORKSPACES_AUTO_MERGE": "staging"}
    with running_server(tmp_path, env=env) as server:
        yield Team(server)


def propose(worker, destination):
    world = worker.world
    put(worker.api, world.repository, world.workspace, "out/new.csv", b"new")
    commit(worker.api, world.repository, world.workspace)
    place = f"/repositories/{world.repository}/workspaces/{world.workspace}"
    answer = worker.api.post(f"{place}/proposal", json={"destination": destination})
    assert answer.status_code == 201, answer.text
    return f"{place}/merge"


def test_keys_merge_into_the_named_branch_alone(team_with_rule):
    team = team_with_rule
    for destination, status in (("staging", 200), ("main", 403)):
        world = make_world(team)
        body = {"name": "staging", "source": "main"}
        team.admin.api.post(f"/repositories/{world.repository}/branches", json=body)
        worker = make_intruder(team, world)
        place = propose(worker, destination)
        answer = worker.api.post(place, json={})
        assert answer.status_code == status, answer.text
        if status == 403:
            assert team.admin.api.post(place, json={}).status_code == 200


def test_keys_merge_no_more_than_their_creator(team_with_rule):
    team = team_with_rule
    creator = team.member(
        deny("fs:CreateCommit", on="*", StringEquals={"lakefs:branch": ["staging"]}),
        groups=("Developers",),
    )
    world = make_world(team, creator=creator)
    body = {"name": "staging", "source": "main"}
    team.admin.api.post(f"/repositories/{world.repository}/branches", json=body)
    worker = make_intruder(team, world)
    place = propose(worker, "staging")
    assert worker.api.post(place, json={}).status_code == 401
    assert creator.api.post(place, json={}).status_code == 401


def test_without_the_setting_keys_merge_nowhere(team):
    world = make_world(team)
    worker = make_intruder(team, world)
    place = propose(worker, "main")
    assert worker.api.post(place, json={}).status_code == 403
    assert team.admin.api.post(place, json={}).status_code == 200
