"""Every operation of REST and S3, tried by a member of each default group."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx2
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from anabranch.rest.table import EXTENSIONS, OPERATIONS
from anabranch.s3.table import OPERATIONS as S3_OPERATIONS

from .minimal_requests import MinimalRequest, rest_request, s3_request
from .role_matrix import GROUPS, REST, S3, expected

EVERY = (*OPERATIONS, *EXTENSIONS)
DELETE_ONE = b"<Delete><Object><Key>main/a</Key></Object></Delete>"


@pytest.fixture(scope="module")
def members(team, client):
    """A member of each group, None for anonymous requests."""
    # the first build also requires the permission to attach the storage namespace of images
    (build,) = (operation for operation in EVERY if operation.id == "buildImage")
    assert send(client, rest_request(build), team.server.auth).status_code not in {401, 403}
    return {
        group: None if group == "anyone" else team.member(groups=(group,) if index > 1 else ())
        for index, group in enumerate(GROUPS)
    }


@pytest.fixture(scope="module")
def client(team):
    """A client without credentials."""
    with httpx2.Client(base_url=team.server.url, timeout=60) as client:
        yield client


def send(client, request: MinimalRequest, keys=None) -> httpx2.Response:
    client.cookies.clear()  # of a login
    return client.request(
        request.method,
        request.path,
        params=request.query,
        headers=request.headers,
        content=request.body,
        auth=keys,
    )


def send_signed(client, request: MinimalRequest, keys) -> httpx2.Response:
    url = str(client.base_url).rstrip("/") + request.path
    url += f"?{urlencode(request.query)}" if request.query else ""
    signed = AWSRequest(request.method, url, data=request.body, headers=request.headers)
    S3SigV4Auth(Credentials(*keys), "s3", "us-east-1").add_auth(signed)
    return client.request(request.method, url, headers=dict(signed.headers), content=request.body)


@pytest.mark.parametrize("group", GROUPS)
def test_rest_operations_are_performed_for_exactly_the_groups_that_may(
    client, team, members, group
):
    member, passed = members[group], set()
    pair = dict(zip(("access_key_id", "secret_access_key"), team.server.auth, strict=True))
    for operation in EVERY:
        request = rest_request(operation, **(pair if operation.id == "login" else {}))
        response = send(client, request, None if member is None else member.keys)
        assert response.status_code < 500 or response.status_code == 501, operation.id
        if response.status_code not in {401, 403}:
            passed.add(operation.id)
    assert passed == expected(REST, group)


@pytest.mark.parametrize("group", GROUPS[1:])
def test_s3_operations_are_performed_for_exactly_the_groups_that_may(client, members, group):
    passed = set()
    for operation in S3_OPERATIONS:
        if operation.form:
            continue  # its signature is in the form: see tests/s3/test_form_permissions.py
        request = s3_request(operation)
        if operation.id == "DeleteObjects":
            request = request._replace(body=DELETE_ONE)
        response = send_signed(client, request, members[group].keys)
        assert response.status_code < 500 or response.status_code == 501, operation.id
        if response.status_code != 403:
            passed.add(operation.id)
    assert passed == expected(S3, group)


def test_the_matrix_has_every_operation_once():
    for table, operations in (
        (REST, {operation.id for operation in EVERY}),
        (S3, {operation.id for operation in S3_OPERATIONS if not operation.form}),
    ):
        listed = [name.strip() for text in table.values() for name in text.split(";")]
        listed = [" ".join(name.split()) for name in listed if name]
        assert sorted(listed) == sorted(operations)


@pytest.mark.parametrize("group", ["Viewers", "Developers", "SuperUsers"])
def test_members_administer_their_own_keys_only(members, group):
    member, other = members[group], members["users"]
    own, others = (f"/auth/users/{each.name}/credentials" for each in (member, other))
    created = member.api.post(own)
    assert created.status_code == 201
    key = created.json()["access_key_id"]
    listed = [each["access_key_id"] for each in member.api.get(own).json()["results"]]
    assert sorted(listed) == sorted([key, member.keys[0]])
    assert member.api.get(f"{own}/{key}").status_code == 200
    assert member.api.delete(f"{own}/{key}").status_code == 204
    for method, path in (
        ("POST", others),
        ("GET", others),
        ("GET", f"{others}/{other.keys[0]}"),
        ("DELETE", f"{others}/{other.keys[0]}"),
        ("DELETE", f"/auth/users/{member.name}"),
        ("PUT", f"/auth/groups/Admins/members/{member.name}"),
        ("PUT", f"/auth/users/{member.name}/policies/FSFullAccess"),
    ):
        assert member.api.request(method, path).status_code == 401, (method, path)


def test_a_user_whose_every_action_is_denied_passes_no_permission(client, team):
    member = team.member({"effect": "deny", "action": ["*"], "resource": "*"}, groups=("Admins",))
    passed = {
        operation.id
        for operation in EVERY
        if operation.id != "login"
        and send(client, rest_request(operation), member.keys).status_code not in {401, 403}
    }
    assert passed == expected(REST, "users") - {"login"}
