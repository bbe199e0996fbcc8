"""`main/` as a folder: there with its reference, made by agreeing, never stored."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError


def status(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize("ref", ["main", "main~1", "v1"])
def test_directory_marker_exists_with_its_reference(s3, bucket, api, ref):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"a")
    api.post(f"/repositories/{bucket}/branches/main/commits", json={"message": "a"})
    api.post(f"/repositories/{bucket}/tags", json={"id": "v1", "ref": "main"})
    key = {"Bucket": bucket, "Key": f"{ref}/"}
    head = s3.head_object(**key)
    assert (head["ContentLength"], head["ContentType"]) == (0, "application/x-directory")
    assert s3.get_object(**key)["Body"].read() == b""
    assert status(s3.head_object, Bucket=bucket, Key=ref) == 404
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{ref}/").get("Contents", [])
    assert f"{ref}/" not in [item["Key"] for item in listed]


def test_creating_a_directory_marker_succeeds(s3, bucket, api):
    made = s3.put_object(Bucket=bucket, Key="main/", Body=b"")
    assert made["ETag"] == s3.head_object(Bucket=bucket, Key="main/")["ETag"]
    s3.delete_object(Bucket=bucket, Key="main/")
    assert api.get(f"/repositories/{bucket}/refs/main/objects/ls").json()["results"] == []
    s3.head_object(Bucket=bucket, Key="main/")


def test_directory_marker_rejects_a_body_and_needs_a_branch(s3, bucket, api):
    assert status(s3.put_object, Bucket=bucket, Key="main/", Body=b"a") == 400
    assert status(s3.put_object, Bucket=bucket, Key="none/", Body=b"") == 404
    assert status(s3.head_object, Bucket=bucket, Key="none/") == 404
    api.post(f"/repositories/{bucket}/tags", json={"id": "v1", "ref": "main"})
    assert status(s3.put_object, Bucket=bucket, Key="v1/", Body=b"") == 404
    assert status(s3.put_object, Bucket="nobody-has-this", Key="main/", Body=b"") == 404
