"""Copies and moves need permission to read the source and to write the destination, and what else
they do, through REST and S3. Published as GHSA-m836-gxwq-j2pm and GHSA-fvv5-h29g-f6w5 for lakeFS.
"""

from __future__ import annotations

import time

import httpx2
import pytest
from botocore.exceptions import ClientError

from .conftest import allow, deny

READ, WRITE, DELETE = "fs:ReadObject", "fs:WriteObject", "fs:DeleteObject"


@pytest.fixture(scope="module")
def lake(team):
    return team.repository("source/a", "source/b", "secret/a")


def objects(lake, prefix):
    return f"arn:lakefs:fs:::repository/{lake}/object/{prefix}*"


def rest_copy(member, lake, source, destination):
    place = f"/repositories/{lake}/branches/main/objects/copy"
    body = {"src_path": source}
    return member.api.post(place, params={"dest_path": destination}, json=body).status_code


def s3_copy(member, lake, source, destination):
    origin = {"Bucket": lake, "Key": f"main/{source}"}
    try:
        member.s3.copy_object(Bucket=lake, Key=f"main/{destination}", CopySource=origin)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"]
    return 201


def s3_part_copy(member, lake, source, destination):
    key, origin = f"main/{destination}", {"Bucket": lake, "Key": f"main/{source}"}
    try:
        upload = member.s3.create_multipart_upload(Bucket=lake, Key=key)["UploadId"]
        member.s3.upload_part_copy(
            Bucket=lake, Key=key, UploadId=upload, PartNumber=1, CopySource=origin
        )
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"]
    return 201


@pytest.mark.parametrize("copy", [rest_copy, s3_copy, s3_part_copy])
def test_copies_need_to_read_the_source_and_to_write_the_destination(team, lake, copy):
    both = team.member(
        allow(READ, on=objects(lake, "source/")), allow(WRITE, on=objects(lake, "target/"))
    )
    refused = {401, 403}
    assert copy(both, lake, "source/a", "target/a") == 201
    assert copy(both, lake, "secret/a", "target/b") in refused
    assert copy(both, lake, "source/a", "source/c") in refused
    writer = team.member(allow(WRITE, "ci:ReadAction", "fs:ReadRepository"))
    assert copy(writer, lake, "source/a", "target/c") in refused
    reader = team.member(allow("fs:Read*", "fs:List*"))
    assert copy(reader, lake, "source/a", "target/d") in refused
    listed = team.admin.api.get(
        f"/repositories/{lake}/refs/main/objects/ls", params={"prefix": "target/"}
    ).json()["results"]
    assert {each["path"] for each in listed} <= {"target/a"}


@pytest.mark.parametrize("operation", ["copies", "moves"])
def test_prefixes_are_transferred_only_with_permission_on_all_of_their_objects(team, operation):
    lake = team.repository("source/a", "source/b", "source/secret/c")
    place = f"/repositories/{lake}/branches/main/objects/{operation}"
    body = {"source_path": "source/", "destination_path": "target/"}
    both = [objects(lake, "source/"), objects(lake, "target/")]
    most = team.member(
        allow(READ, WRITE, DELETE, on=both), deny(READ, on=objects(lake, "source/secret/"))
    )
    assert most.api.post(place, json=body).status_code == 401
    without = team.member(allow(READ, WRITE, on=both))
    status = without.api.post(place, json=body).status_code
    assert status == (200 if operation == "copies" else 401)
    if operation == "moves":
        every = team.member(allow(READ, WRITE, DELETE, on=both))
        moved = every.api.post(place, json=body)
        assert (moved.status_code, moved.json()) == (200, {"count": 3})


def test_key_of_a_deleted_user_is_no_key_of_a_later_user_of_the_name(team):
    """GHSA-hh33-46q4-hwm2."""
    lake = team.repository("a")
    member = team.member(groups=("Viewers",))
    pair = dict(zip(("access_key_id", "secret_access_key"), member.keys, strict=True))
    token = member.api.post("/auth/login", json=pair).json()["token"]
    admin = team.admin.api
    assert admin.delete(f"/auth/users/{member.name}").status_code == 204
    time.sleep(1.1)  # tokens have whole seconds
    assert admin.post("/auth/users", json={"id": member.name}).status_code == 201
    assert admin.put(f"/auth/groups/Viewers/members/{member.name}").status_code == 201
    place = f"{team.server.api}/repositories/{lake}"
    assert httpx2.get(place, auth=member.keys).status_code == 401
    assert httpx2.get(place, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    with pytest.raises(ClientError, match="InvalidAccessKeyId"):
        member.s3.get_object(Bucket=lake, Key="main/a")
