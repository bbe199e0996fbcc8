"""What the keys of a workspace have read is kept with its proposal."""

from __future__ import annotations

import pytest

from tests.server.access.conftest import allow, deny
from tests.server.access.workspaces.conftest import commit, make_intruder, make_world, put


@pytest.fixture
def worker(team):
    """A program with the keys of a new workspace."""
    return make_intruder(team, make_world(team, run_id="7"))


def reads(client, world, **params):
    answer = client.get(
        f"/repositories/{world.repository}/workspaces/{world.workspace}/reads", params=params
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def pairs(document):
    return sorted((each["path"], each["commit_id"]) for each in document["reads"])


def test_each_way_to_read_is_recorded_with_its_commit(team, worker):
    world, api, s3 = worker.world, worker.api, worker.s3
    root = f"/repositories/{world.repository}"
    put(api, world.repository, world.workspace, "out/a.csv", b"x,y\n3,4\n")
    put(api, world.repository, world.workspace, "out/b.csv", b"x,y\n3,4\n")
    put(api, world.repository, world.workspace, "out/c.csv", b"x,y\n3,4\n")
    head = commit(api, world.repository, world.workspace)
    here = f"{root}/refs/{world.workspace}"
    api.get(f"{root}/refs/{world.source}/objects", params={"path": "in/a.csv"})
    for _ in range(2):
        api.post(f"{here}/objects/contents", json={"paths": ["in/a.csv"]})
    s3.get_object(Bucket=world.repository, Key=f"{world.workspace}/out/a.csv")
    api.post(f"{here}/query", json={"sql": "SELECT * FROM t", "tables": {"t": "out/b.csv"}})
    api.post(
        f"{root}/branches/{world.workspace}/objects/copy",
        params={"dest_path": "out/d.csv"},
        json={"src_path": "out/c.csv"},
    )
    api.get(f"{here}/objects", params={"path": "secret/a.csv"})  # refused
    api.get(f"{here}/objects", params={"path": "in/absent.csv"})
    api.get(f"{here}/objects/ls")
    found = reads(team.admin.api, world)
    assert pairs(found) == sorted(
        [
            ("in/a.csv", world.source),
            ("in/a.csv", head),
            ("out/a.csv", head),
            ("out/b.csv", head),
            ("out/c.csv", head),
        ]
    )
    assert found["left_out"] == 0
    assert pairs(reads(api, world)) == pairs(found)


def test_rows_that_differ_are_reads_of_both_sides(team, worker):
    """Who replaces a table sees all rows that it had in the difference."""
    world, api = worker.world, worker.api
    root = f"/repositories/{world.repository}"
    put(api, world.repository, world.workspace, "out/old.csv", b"x,y\n")
    head = commit(api, world.repository, world.workspace)
    answer = api.get(
        f"{root}/refs/{world.source}/diff/{world.workspace}/rows",
        params={"path": "out/old.csv", "key": "x"},
    )
    assert "1" in str(answer.json()["results"][0]["left"]), answer.text
    read = [("out/old.csv", world.source), ("out/old.csv", head)]
    assert pairs(reads(team.admin.api, world)) == sorted(read)


@pytest.mark.parametrize("view", ["preview", "statistics"])
def test_what_views_of_a_table_show_is_recorded(team, worker, view):
    world = worker.world
    place = f"/repositories/{world.repository}/refs/{world.workspace}/objects/{view}"
    answer = worker.api.get(place, params={"path": "in/a.csv"})
    assert answer.status_code == 200, answer.text
    assert pairs(reads(team.admin.api, world)) == [("in/a.csv", world.source)]


def test_the_reads_of_others_are_not_recorded(team, worker):
    world = worker.world
    place = f"/repositories/{world.repository}/refs/{world.workspace}/objects"
    assert team.admin.api.get(place, params={"path": "in/a.csv"}).status_code == 200
    assert reads(team.admin.api, world)["reads"] == []


def test_they_are_kept_with_the_proposal_after_the_workspace(team, worker):
    world, api = worker.world, worker.api
    root = f"/repositories/{world.repository}"
    api.get(f"{root}/refs/{world.workspace}/objects", params={"path": "in/a.csv"})
    put(api, world.repository, world.workspace, "out/a.csv", b"a")
    answer = api.post(f"{root}/workspaces/{world.workspace}/proposal", json={})
    pull = f"{root}/pulls/{answer.json()['id']}/reads"
    admin = team.admin.api
    assert [each["path"] for each in admin.get(pull).json()["reads"]] == ["in/a.csv"]
    assert admin.delete(f"{root}/workspaces/{world.workspace}").status_code == 204
    assert [each["path"] for each in admin.get(pull).json()["reads"]] == ["in/a.csv"]
    assert admin.get(f"{root}/workspaces/{world.workspace}/reads").status_code == 404
    name = f"arn:lakefs:fs:::repository/{world.repository}"
    blind = team.member(allow("*"), deny("fs:ReadObject", on=f"{name}/object/in/*"))
    assert blind.api.get(pull).json()["reads"] == []


def test_they_are_an_event_of_open_lineage(team, worker):
    world, api = worker.world, worker.api
    root = f"/repositories/{world.repository}"
    api.get(f"{root}/refs/{world.workspace}/objects", params={"path": "in/a.csv"})
    event = reads(team.admin.api, world, format="openlineage")
    assert event["job"] == {"namespace": f"lakefs://{world.repository}", "name": world.workspace}
    (read,) = event["inputs"]
    assert (read["namespace"], read["name"]) == (f"lakefs://{world.repository}", "in/a.csv")
    assert read["facets"]["version"]["datasetVersion"] == world.source
    assert len(event["run"]["runId"]) == 36
