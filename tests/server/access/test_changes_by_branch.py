"""A policy that denies changes of one branch, tried by every operation of REST and S3."""

from __future__ import annotations

import httpx2
import pytest
from botocore.exceptions import ClientError

from anabranch.access.policies.permissions import BRANCH_ACTIONS
from anabranch.rest.table import EXTENSIONS, OPERATIONS
from anabranch.s3.operation import ByKey
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS

from .conftest import allow, deny
from .minimal_requests import rest_request, s3_request
from .test_role_matrix import DELETE_ONE, send, send_signed

CHANGES = sorted(str(action) for action in BRANCH_ACTIONS)
BRANCH_UNKNOWN = {
    "CreateCommitRecord",
    "restoreRefs",
    "restoreSubmit",
    "restoreStatus",
    "triggerActions",
}
"""Operations whose branch cannot be known: they write records of any branch, or name a branch that
does not exist.
"""
NO_PULL_REQUEST = {"mergePullRequest"}
"""The branch is that of a pull request, of which the matrix has none: see the test of merges."""


RANDOM_BRANCH = {"createWorkspace"}
"""The smallest request names no branch; one that names it: `workspaces/test_use.py`."""


def changes_a_branch(operation):
    needs = operation.permission
    if isinstance(needs, ByKey):
        return True
    return isinstance(needs, tuple) and any(need.action in BRANCH_ACTIONS for need in needs)


REST = {each.id: each for each in (*OPERATIONS, *EXTENSIONS) if changes_a_branch(each)}
S3 = {each.id: each for each in S3_OPERATIONS if changes_a_branch(each) and not each.form}


def bound_to(branch):
    """Returns a statement that denies all changes of a branch."""
    return deny(*CHANGES, StringEquals={"lakefs:branch": [branch]})


@pytest.fixture(scope="module")
def denied(team):
    """A user who may do everything but change the branches that the matrix names."""
    names = ["absent", "main"]
    return team.member(allow("*"), deny(*CHANGES, StringEquals={"lakefs:branch": names}))


@pytest.fixture(scope="module")
def elsewhere(team):
    """A user who may do everything but change one other branch."""
    return team.member(allow("*"), bound_to("other"))


@pytest.fixture(scope="module")
def client(team):
    """A client without credentials."""
    with httpx2.Client(base_url=team.server.url, timeout=60) as client:
        yield client


@pytest.mark.parametrize("name", sorted(REST))
def test_each_change_over_rest_knows_its_branch(client, denied, elsewhere, name):
    request = rest_request(REST[name], branch="absent", name="absent", destinationBranch="absent")
    statuses = [send(client, request, each.keys).status_code for each in (denied, elsewhere)]
    if name in NO_PULL_REQUEST | RANDOM_BRANCH:
        assert statuses == [404, 404]
        return
    assert statuses[0] == 401
    assert (statuses[1] == 401) is (name in BRANCH_UNKNOWN)


@pytest.mark.parametrize("name", sorted(S3))
def test_each_change_over_s3_knows_its_branch(client, denied, elsewhere, name):
    request = s3_request(S3[name])
    if name == "DeleteObjects":
        request = request._replace(body=DELETE_ONE)
    responses = [send_signed(client, request, each.keys) for each in (denied, elsewhere)]
    refused = [each.status_code == 403 for each in responses]
    if name == "DeleteObjects":
        assert [each.status_code for each in responses] == [404, 404]
        return
    assert refused == [True, False]


@pytest.fixture(scope="module")
def lake(team):
    """A repository with the branches main and dev, and a user who may not change main."""
    lake = team.repository("a", "b")
    body = {"name": "dev", "source": "main"}
    assert team.admin.api.post(f"/repositories/{lake}/branches", json=body).is_success
    team.upload(lake, "dev", "x")
    commit = f"/repositories/{lake}/branches/dev/commits"
    assert team.admin.api.post(commit, json={"message": "x"}).is_success
    return lake, team.member(allow("*"), bound_to("main"))


REFERENCES = ("main", "main~0", "main^0", "main@", "main$", "%6Dain")


@pytest.mark.parametrize("reference", REFERENCES)
def test_no_spelling_of_a_branch_passes_over_s3(lake, reference):
    name, user = lake
    text = reference.replace("%6D", "m")
    for change in (
        lambda: user.s3.put_object(Bucket=name, Key=f"{text}/new", Body=b"x"),
        lambda: user.s3.delete_object(Bucket=name, Key=f"{text}/a"),
        lambda: user.s3.copy_object(Bucket=name, Key=f"{text}/c", CopySource=f"{name}/dev/x"),
        lambda: user.s3.create_multipart_upload(Bucket=name, Key=f"{text}/c"),
    ):
        with pytest.raises(ClientError) as caught:
            change()
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] in {400, 403, 404, 405}
    keys = [{"Key": f"{text}/a"}, {"Key": "dev/absent"}]
    response = user.s3.delete_objects(Bucket=name, Delete={"Objects": keys})
    assert [each["Key"] for each in response["Errors"]] == [f"{text}/a"]
    listed = user.s3.list_objects_v2(Bucket=name, Prefix="main/")
    assert [each["Key"] for each in listed["Contents"]] == ["main/a", "main/b"]


@pytest.mark.parametrize("reference", REFERENCES)
def test_no_spelling_of_a_branch_passes_over_rest(lake, reference):
    name, user = lake
    place = f"/repositories/{name}/branches/{reference.replace('^', '%5E')}"
    for method, path, body in (
        ("POST", "/objects?path=new", {}),
        ("DELETE", "/objects?path=a", None),
        ("POST", "/objects/delete", {"paths": ["a"]}),
        ("POST", "/objects/copy?dest_path=c", {"src_path": "x", "src_ref": "dev"}),
        ("POST", "/commits", {"message": "m", "allow_empty": True}),
        ("PUT", "/hard_reset?ref=dev", None),
        ("DELETE", "", None),
    ):
        response = user.api.request(method, place + path, json=body)
        assert response.status_code in {400, 401, 404}, (method, path)
    for source in (reference, "main"):
        body = {"source_path": "a", "destination_path": "z", "source_ref": source}
        dev = f"/repositories/{name}/branches/dev/objects/move"
        assert user.api.post(dev, json=body).status_code in {400, 401, 404}
    log = user.api.get(f"/repositories/{name}/refs/main/commits").json()["results"]
    assert len(log) == 2


def test_everything_else_is_possible(lake):
    name, user = lake
    user.s3.put_object(Bucket=name, Key="dev/new", Body=b"x")
    user.s3.copy_object(Bucket=name, Key="dev/copied", CopySource=f"{name}/main/a")
    place = f"/repositories/{name}"
    assert user.api.post(f"{place}/branches/dev/commits", json={"message": "m"}).is_success
    assert user.api.post(f"{place}/refs/main/merge/dev", json={"allow_empty": True}).is_success
    response = user.api.post(f"{place}/refs/dev/merge/main", json={})
    assert response.status_code == 401


def test_a_pull_request_into_the_branch_is_not_merged(lake):
    name, user = lake
    place = f"/repositories/{name}/pulls"
    body = {"title": "t", "source_branch": "dev", "destination_branch": "main"}
    created = user.api.post(place, json=body)
    assert created.status_code == 201
    merge = f"{place}/{created.json()['id']}/merge"
    assert user.api.put(merge, json={}).status_code == 401


def test_an_address_of_another_branch_is_not_linked(lake):
    name, user = lake
    place = f"/repositories/{name}/branches/{{}}/staging/backing"
    address = user.api.get(place.format("dev"), params={"path": "p"}).json()["physical_address"]
    body = {"staging": {"physical_address": address}, "checksum": "0" * 32, "size_bytes": 1}
    response = user.api.put(place.format("main"), params={"path": "p"}, json=body)
    assert response.status_code == 401
    assert user.api.get(place.format("main"), params={"path": "p"}).status_code == 401


def test_users_may_ask_what_they_may_do(team, lake):
    name, user = lake
    viewer = team.member(groups=("Viewers",))
    given = {
        "action": ["fs:WriteObject", "fs:ReadObject"],
        "resource": f"arn:lakefs:fs:::repository/{name}/object/a",
    }

    def asked(member, branch):
        response = member.api.get("/user/permissions", params={**given, "branch": branch})
        assert response.status_code == 200
        results = response.json()["results"]
        assert [each["action"] for each in results] == given["action"]
        return [each["allowed"] for each in results]

    assert asked(user, "main") == [False, True]
    assert asked(user, "dev") == [True, True]
    assert asked(user, "") == [False, True]
    assert asked(viewer, "dev") == [False, True]
    wrong = {**given, "action": "fs:WriteObjects"}
    assert user.api.get("/user/permissions", params=wrong).status_code == 400
    no_action = {"resource": given["resource"]}
    assert user.api.get("/user/permissions", params=no_action).status_code == 400


def test_users_may_ask_about_resources_that_are_not_named_yet(team, lake):
    name, _ = lake
    arn = f"arn:lakefs:fs:::repository/{name}"
    user = team.member(
        allow("fs:ReadObject", on=f"{arn}/object/data/*"),
        allow("fs:CreateBranch", on=f"{arn}/branch/dev-*"),
    )

    def asked(*pairs):
        given = {"action": [each[0] for each in pairs], "resource": [each[1] for each in pairs]}
        response = user.api.get("/user/permissions", params=given)
        assert response.status_code == 200
        results = response.json()["results"]
        assert [(each["action"], each["resource"]) for each in results] == list(pairs)
        return [(each["allowed"], each["all"]) for each in results]

    assert asked(
        ("fs:ReadObject", f"{arn}/object/*"),
        ("fs:ReadObject", f"{arn}/object/data/*"),
        ("fs:ReadObject", f"{arn}/object/other/*"),
        ("fs:ReadObject", f"{arn}/object/data/a"),
        ("fs:CreateBranch", f"{arn}/branch/*"),
        ("fs:DeleteBranch", f"{arn}/branch/*"),
        ("auth:CreateUser", "arn:lakefs:auth:::user/*"),
        ("fs:CreateBranch", "*"),
    ) == [
        (True, False),
        (True, True),
        (False, False),
        (True, True),
        (True, False),
        (False, False),
        (False, False),
        (True, True),
    ]
    wrong = {"action": ["fs:ReadObject"] * 3, "resource": [f"{arn}/object/a"] * 2}
    response = user.api.get("/user/permissions", params=wrong)
    assert response.status_code == 400
    assert "3 actions and 2 resources" in response.json()["message"]


def test_an_explanation_tells_the_branches_apart(team, lake):
    name, user = lake
    place = f"/auth/users/{user.name}/explain"
    resource = f"arn:lakefs:fs:::repository/{name}/object/a"
    for branch, allowed in (("main", False), ("dev", True), ("", False)):
        given = {"action": "fs:WriteObject", "resource": resource, "branch": branch}
        response = team.admin.api.get(place, params=given)
        assert response.json()["allowed"] is allowed
