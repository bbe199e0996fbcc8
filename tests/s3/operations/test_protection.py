"""Protected branches and read-only repositories, as clients of S3 meet them."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def protected(s3, bucket, api):
    """A repository whose main holds an object, staged, and is protected."""
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc", Tagging="t=1")
    rules = f"/repositories/{bucket}/settings/branch_protection"
    assert api.put(rules, json=[{"pattern": "main"}]).status_code == 204
    return bucket


def writes(s3, bucket):
    place = {"Bucket": bucket, "Key": "main/a"}
    new = {"Bucket": bucket, "Key": "main/b"}
    yield lambda: s3.put_object(**new, Body=b"x")
    yield lambda: s3.put_object(**new, Body=b"x" * 3_000_000)
    yield lambda: s3.put_object(**new, Body=b"x", IfNoneMatch="*")
    yield lambda: s3.copy_object(**new, CopySource=place)
    yield lambda: s3.delete_object(**place)
    yield lambda: s3.put_object_tagging(**place, Tagging={"TagSet": []})
    yield lambda: s3.delete_object_tagging(**place)


def state(api, bucket):
    branch = f"/repositories/{bucket}/branches/main"
    return api.get(branch).text, api.get(f"{branch}/diff", params={"amount": 1000}).text


def test_writes_are_denied_and_change_nothing(s3, protected, api):
    before = state(api, protected)
    for write in writes(s3, protected):
        with pytest.raises(ClientError) as caught:
            write()
        error = caught.value.response["Error"]
        assert (error["Code"], error["Message"]) == (
            "AccessDenied",
            "cannot write to protected branch",
        )
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert state(api, protected) == before


def test_deleting_many_is_denied_key_by_key(s3, protected, api):
    api.post(f"/repositories/{protected}/branches", json={"name": "work", "source": "main"})
    s3.put_object(Bucket=protected, Key="work/a", Body=b"")
    keys = ["main/a", "work/a", "main/none"]
    answer = s3.delete_objects(Bucket=protected, Delete={"Objects": [{"Key": k} for k in keys]})
    assert [item["Key"] for item in answer["Deleted"]] == ["work/a"]
    assert {item["Key"]: item["Code"] for item in answer["Errors"]} == {
        "main/a": "AccessDenied",
        "main/none": "AccessDenied",
    }
    assert s3.head_object(Bucket=protected, Key="main/a")


def test_a_read_only_repository_is_denied(s3, api):
    body = {"name": "fixed-s3", "storage_namespace": "local://fixed-s3", "read_only": True}
    assert api.post("/repositories", json=body).status_code == 201
    with pytest.raises(ClientError) as caught:
        s3.put_object(Bucket="fixed-s3", Key="main/a", Body=b"")
    error = caught.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("AccessDenied", "read-only repository")
    assert s3.list_objects_v2(Bucket="fixed-s3", Prefix="main/")["KeyCount"] == 0
