"""What the keys of a workspace are for: work on its branch, and a proposal, by REST and S3."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.server.access.conftest import allow, deny
from tests.server.access.workspaces.conftest import commit, make_intruder, make_world, put

MEGABYTES = 5 << 20


@pytest.fixture
def worker(team):
    """A program with the keys of a new workspace."""
    return make_intruder(team, make_world(team, purpose="Clean", metadata={"ticket": "7"}))


def test_a_new_workspace_tells_where_it_is_and_its_keys_once(team, worker):
    world = worker.world
    fields = world.fields
    place = f"{world.repository}/{world.workspace}/"
    assert fields["addresses"] == {
        "lakefs": f"lakefs://{place}",
        "s3": f"s3://{place}",
        "fsspec": f"anabranch://{place}",
        "rest": f"/api/v1/repositories/{world.repository}/refs/{world.workspace}/objects",
    }
    assert (fields["state"], fields["creator"], fields["run_id"]) == ("open", "tester", "run-1")
    assert (fields["source"], fields["source_commit"]) == ("main", world.source)
    path = f"/repositories/{world.repository}/workspaces"
    listed = team.admin.api.get(path).json()["results"]
    found = team.admin.api.get(f"{path}/{world.workspace}").json()
    assert listed == [found]
    for secret in ("token", "secret_access_key", "access_key_id"):
        assert secret not in found
    assert found["metadata"] == {"ticket": "7"}


def test_a_program_works_on_its_branch_and_proposes(team, worker):
    world, api, s3 = worker.world, worker.api, worker.s3
    root = f"/repositories/{world.repository}"
    branch = f"{root}/branches/{world.workspace}"
    read = api.get(f"{root}/refs/{world.workspace}/objects", params={"path": "in/a.csv"})
    assert read.content == b"x,y\n1,2\n"
    put(api, world.repository, world.workspace, "out/rest.csv", b"rest")
    s3.put_object(Bucket=world.repository, Key=f"{world.workspace}/out/s3.csv", Body=b"s3")
    copied = {"src_path": "in/a.csv"}
    answer = api.post(f"{branch}/objects/copy", params={"dest_path": "out/c.csv"}, json=copied)
    assert answer.status_code == 201
    answer = api.post(
        f"{branch}/objects/moves",
        json={"source_path": "out/c.csv", "destination_path": "out/deep/c.csv"},
    )
    assert answer.status_code == 200
    assert api.delete(f"{branch}/objects", params={"path": "out/old.csv"}).status_code == 204
    answer = api.post(f"{root}/workspaces/{world.workspace}/checkpoints", json={"label": "one"})
    assert answer.status_code == 201
    first = answer.json()["commit_id"]
    snapshot = api.get(f"{root}/refs/{first}/snapshot")
    assert snapshot.json()["tables"] is None  # tables name hidden paths
    put(api, world.repository, world.workspace, "out/bad.csv", b"bad")
    commit(api, world.repository, world.workspace)
    answer = api.post(f"{root}/workspaces/{world.workspace}/restore", json={"checkpoint": "one"})
    assert answer.json()["commit_id"] == first
    diff = api.get(f"{root}/workspaces/{world.workspace}/diff").json()["results"]
    assert [(each["type"], each["path"]) for each in diff] == [
        ("added", "out/deep/c.csv"),
        ("removed", "out/old.csv"),
        ("added", "out/rest.csv"),
        ("added", "out/s3.csv"),
    ]
    same = api.get(f"{root}/refs/{world.source}/diff/{world.workspace}").json()["results"]
    assert same == diff
    log = api.get(f"{root}/refs/{world.workspace}/commits").json()["results"]
    assert [each["id"] for each in log[:2]] == [first, world.source]
    answer = api.post(
        f"{root}/refs/{world.workspace}/query",
        json={"sql": "SELECT y FROM t", "tables": {"t": "in/a.csv"}},
    )
    assert answer.json()["rows"] == [[2]]
    answer = api.post(f"{root}/workspaces/{world.workspace}/proposal", json={})
    assert answer.status_code == 201, answer.text
    pull = team.admin.api.get(f"{root}/pulls/{answer.json()['id']}").json()
    assert (pull["source_branch"], pull["destination_branch"]) == (world.workspace, "main")
    for text in ("Clean", "run-1", "ticket: 7", "out/**"):
        assert text in pull["description"]
    assert api.delete(f"{root}/workspaces/{world.workspace}").status_code == 204
    assert api.get(root).status_code == 401


def keyed_commit(client, world, branch):
    """Commits whatever there is on a branch, once by one idempotency key."""
    return client.post(
        f"/repositories/{world.repository}/branches/{branch}/commits",
        json={"message": "m", "allow_empty": True},
        headers={"Idempotency-Key": "nightly"},
    )


def test_idempotency_keys_are_those_of_one_workspace(team):
    """A workspace neither takes those of its creator, nor learns which there are."""
    world = make_world(team)
    worker = make_intruder(team, world)
    mine = keyed_commit(worker.api, world, world.workspace)
    assert mine.status_code == 201
    theirs = keyed_commit(team.admin.api, world, "other")
    assert theirs.status_code == 201, theirs.text
    again = keyed_commit(worker.api, world, world.workspace)
    assert again.json() == mine.json()
    path = f"/repositories/{world.repository}/workspaces"
    assert worker.api.delete(f"{path}/{world.workspace}").status_code == 204
    body = {"source": "main", "branch": world.workspace}
    made = team.admin.api.post(path, json=body).json()
    later = make_intruder(team, world._replace(fields=made))
    new = keyed_commit(later.api, world, world.workspace)
    assert new.status_code == 201, new.text
    assert "idempotency-replayed" not in new.headers
    assert new.json()["parents"] == [world.later]


def test_an_upload_that_has_begun_does_not_end_in_a_later_workspace_of_the_name(team):
    # if the server has not begun to read it when the workspace ends, it is refused for that
    found = (is_refused_at_its_end(team) for _ in range(20))
    assert any(found)


def is_refused_at_its_end(team):
    """Uploads while a workspace is replaced by another one of its name, where nothing is staged;
    returns whether the upload had begun by then.
    """
    world = make_world(team, branch="nightly")
    worker = make_intruder(team, world)
    path = f"/repositories/{world.repository}/workspaces"

    def pieces():
        yield b"x" * MEGABYTES
        assert team.admin.api.delete(f"{path}/nightly").status_code == 204
        again = {"source": "main", "branch": "nightly"}
        assert team.admin.api.post(path, json=again).status_code == 201
        yield b"y"

    branch = f"/repositories/{world.repository}/branches/nightly"
    answer = worker.api.post(f"{branch}/objects", params={"path": "out/a"}, content=pieces())
    assert answer.status_code in (401, 404), answer.text
    assert team.admin.api.get(f"{branch}/diff").json()["results"] == []
    return answer.headers.get("x-anabranch-kind") == "workspace_not_found"


def test_a_multipart_upload(worker):
    world, s3 = worker.world, worker.s3
    place = {"Bucket": world.repository, "Key": f"{world.workspace}/out/large"}
    upload = s3.create_multipart_upload(**place)["UploadId"]
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(**place, UploadId=upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, body in ((1, b"x" * MEGABYTES), (2, b"y"))
    ]
    listed = s3.list_parts(**place, UploadId=upload)["Parts"]
    assert [each["PartNumber"] for each in listed] == [1, 2]
    s3.complete_multipart_upload(**place, UploadId=upload, MultipartUpload={"Parts": parts})
    assert s3.head_object(**place)["ContentLength"] == MEGABYTES + 1


def test_the_creator_is_stripped_of_a_right_and_of_everything(team):
    creator = team.member(groups=("Developers",))
    worker = make_intruder(team, make_world(team, creator=creator))
    world, api = worker.world, worker.api
    place = f"/repositories/{world.repository}/refs/{world.workspace}/objects"
    assert api.get(place, params={"path": "in/a.csv"}).status_code == 200
    statement = {
        "effect": "deny",
        "action": ["fs:ReadObject"],
        "resource": f"arn:lakefs:fs:::repository/{world.repository}/object/in/*",
    }
    policy = f"Deny{world.repository}"
    body = {"id": policy, "statement": [statement]}
    assert team.admin.api.post("/auth/policies", json=body).status_code == 201
    attached = f"/auth/users/{creator.name}/policies/{policy}"
    assert team.admin.api.put(attached).status_code == 201
    assert api.get(place, params={"path": "in/a.csv"}).status_code == 401
    assert api.get(place, params={"path": "out/old.csv"}).status_code == 200
    assert team.admin.api.delete(f"/auth/users/{creator.name}").status_code == 204
    assert api.get(place, params={"path": "out/old.csv"}).status_code == 401
    with pytest.raises(ClientError) as refused:
        worker.s3.get_object(Bucket=world.repository, Key=f"{world.workspace}/out/old.csv")
    assert refused.value.response["Error"]["Code"] == "InvalidAccessKeyId"


def test_a_user_without_the_right_to_branches_makes_no_workspace(team):
    viewer = team.member(groups=("Viewers",))
    world = make_world(team)
    path = f"/repositories/{world.repository}/workspaces"
    for body in ({"source": "main"}, {"source": "main", "branch": "mine"}):
        assert viewer.api.post(path, json=body).status_code == 401
    assert viewer.api.delete(f"{path}/{world.workspace}").status_code == 401
    assert viewer.api.get(f"{path}/{world.workspace}").status_code == 200


def test_a_policy_on_branches_counts_for_the_name_of_a_workspace(team):
    world = make_world(team)
    path = f"/repositories/{world.repository}/workspaces"
    rule = {"StringEquals": {"lakefs:branch": ["closed"]}}
    member = team.member(allow("*"), deny("fs:CreateBranch", **rule))
    answers = [
        member.api.post(path, json={"source": "main"} | name).status_code
        for name in ({"branch": "closed"}, {"branch": "free"}, {})
    ]
    assert answers == [401, 201, 201]
    only = team.member(
        allow("fs:CreateBranch", on=f"arn:lakefs:fs:::repository/{world.repository}/branch/job-*")
    )
    answers = [
        only.api.post(path, json={"source": "main"} | name).status_code
        for name in ({"branch": "job-1"}, {"branch": "jobs"}, {})
    ]
    assert answers == [201, 401, 401]


def test_hooks_that_the_creator_wrote_run_and_their_code_cannot_be_changed(team):
    world = make_world(team)
    script = "out/check.lua"
    action = f"""
name: check
on:
  pre-commit:
    branches: ["work*"]
hooks:
  - id: check
    type: lua
    properties:
      script_path: {script}
"""
    put(team.admin.api, world.repository, "main", "_lakefs_actions/check.yaml", action.encode())
    put(team.admin.api, world.repository, "main", script, b"print('checked')")
    commit(team.admin.api, world.repository, "main")
    body = {"source": "main", "branch": "work-1", "writable": ["out/**"]}
    made = team.admin.api.post(f"/repositories/{world.repository}/workspaces", json=body)
    assert made.status_code == 201, made.text
    worker = make_intruder(team, world._replace(workspace="work-1", fields=made.json()))
    put(worker.api, world.repository, "work-1", "out/data.csv", b"x")
    commit(worker.api, world.repository, "work-1")
    put(worker.api, world.repository, "work-1", script, b"print(lakefs.list_repositories())")
    answer = worker.api.post(
        f"/repositories/{world.repository}/branches/work-1/commits", json={"message": "m"}
    )
    assert answer.status_code in {401, 403}
    assert "is code of hooks" in answer.text


def test_code_of_hooks_that_run_elsewhere_cannot_be_changed_either(team):
    world = make_world(team)
    script = "out/main.lua"
    action = f"""
name: check
on:
  pre-commit:
    branches: ["main"]
hooks:
  - id: check
    type: lua
    properties:
      script_path: {script}
"""
    put(team.admin.api, world.repository, "main", "_lakefs_actions/check.yaml", action.encode())
    put(team.admin.api, world.repository, "main", script, b"print('checked')")
    commit(team.admin.api, world.repository, "main")
    body = {"source": "main", "branch": "work-1", "writable": ["out/**"]}
    made = team.admin.api.post(f"/repositories/{world.repository}/workspaces", json=body)
    worker = make_intruder(team, world._replace(workspace="work-1", fields=made.json()))
    put(worker.api, world.repository, "work-1", script, b"print(lakefs.list_repositories())")
    answer = worker.api.post(
        f"/repositories/{world.repository}/branches/work-1/commits", json={"message": "m"}
    )
    assert answer.status_code == 403, answer.text
    assert "is code of hooks" in answer.text
