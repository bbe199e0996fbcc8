"""A user with thousands of policy statements over both gateways: every request takes a thread."""

from __future__ import annotations

import httpx2
import pytest
from botocore.exceptions import ClientError
from support.clients.s3_client import s3_client


@pytest.fixture(scope="module")
def user(server):
    """The S3 client of a user who may do everything in one repository, but not read below hidden/,
    as thousands of statements say.
    """
    objects = "arn:lakefs:fs:::repository/many-statements"
    allowed = [
        {"effect": "allow", "action": ["fs:*"], "resource": f"arn:lakefs:fs:::repository/?{at}*x"}
        for at in range(600)
    ]
    own = [
        {"effect": "allow", "action": ["fs:*"], "resource": f"{objects}*"},
        {"effect": "deny", "action": ["fs:ReadObject"], "resource": f"{objects}/object/hidden/*"},
    ]
    with httpx2.Client(base_url=server.api, auth=server.auth) as api:
        body = {"name": "many-statements", "storage_namespace": "local://many-statements"}
        assert api.post("/repositories", json=body).status_code == 201
        assert api.post("/auth/users", json={"id": "many"}).status_code == 201
        for number, statements in enumerate([*[allowed] * 5, own]):
            policy = {"id": f"many-{number}", "statement": statements}
            assert api.post("/auth/policies", json=policy).status_code == 201
            api.put(f"/auth/users/many/policies/many-{number}")
        pair = api.post("/auth/users/many/credentials").json()
    keys = {"access_key_id": pair["access_key_id"], "secret_access_key": pair["secret_access_key"]}
    return s3_client(server._replace(**keys), retries={"total_max_attempts": 1})


def test_rights_are_those_of_the_statements(user):
    place = {"Bucket": "many-statements"}
    for key, size in (("main/a", 3), ("main/hidden/b", 3), ("main/large", 200_000)):
        user.put_object(**place, Key=key, Body=b"x" * size)
        user.head_object(**place, Key="main/a")
    assert user.get_object(**place, Key="main/large")["Body"].read() == b"x" * 200_000
    with pytest.raises(ClientError, match="AccessDenied"):
        user.get_object(**place, Key="main/hidden/b")
    with pytest.raises(ClientError, match="AccessDenied"):
        user.put_object(Bucket="another", Key="main/a", Body=b"x")
    listed = user.list_objects_v2(**place, Prefix="main/")["Contents"]
    deleted = user.delete_objects(**place, Delete={"Objects": [{"Key": "main/a"}]})["Deleted"]
    assert [each["Key"] for each in deleted] == ["main/a"]
    left = user.list_objects_v2(**place, Prefix="main/")["Contents"]
    assert len(left) == len(listed) - 1
