"""Versions, of which every object has one, and what S3 does with old ones."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

KEYS = ["a", "b/1", "b/2", "z", "ü <&>"]


@pytest.fixture
def filled(s3, bucket):
    """A bucket with objects, some of them committed."""
    for key in KEYS:
        s3.put_object(Bucket=bucket, Key=f"main/{key}", Body=key.encode())
    return bucket


def code(error) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_every_object_is_its_only_version(s3, filled):
    got = s3.list_object_versions(Bucket=filled, Prefix="main/")
    plain = s3.list_objects_v2(Bucket=filled, Prefix="main/", FetchOwner=True)["Contents"]
    for version, item in zip(got["Versions"], plain, strict=True):
        assert (version["VersionId"], version["IsLatest"]) == ("null", True)
        for name in ("Key", "ETag", "Size", "LastModified", "StorageClass", "Owner"):
            assert version[name] == item[name]
    assert not got["IsTruncated"]
    assert "DeleteMarkers" not in got


def test_pages_prefixes_and_delimiters(s3, filled):
    pages = s3.get_paginator("list_object_versions").paginate(
        Bucket=filled, Prefix="main/", PaginationConfig={"PageSize": 2}
    )
    found = [item["Key"] for page in pages for item in page["Versions"]]
    assert found == [f"main/{key}" for key in KEYS]
    folded = s3.list_object_versions(Bucket=filled, Prefix="main/", Delimiter="/")
    assert [item["Prefix"] for item in folded["CommonPrefixes"]] == ["main/b/"]
    assert len(folded["Versions"]) == 3
    root = s3.list_object_versions(Bucket=filled)
    assert [item["Prefix"] for item in root["CommonPrefixes"]] == ["main/"]
    after = s3.list_object_versions(
        Bucket=filled, Prefix="main/", KeyMarker="main/b/2", VersionIdMarker="null"
    )
    assert [item["Key"] for item in after["Versions"]] == ["main/z", "main/ü <&>"]


def test_bad_markers(s3, filled):
    for asked in (
        {"VersionIdMarker": "null"},
        {"KeyMarker": "main/a", "VersionIdMarker": "7"},
    ):
        with pytest.raises(ClientError) as error:
            s3.list_object_versions(Bucket=filled, Prefix="main/", **asked)
        assert code(error) == ("InvalidArgument", 400)


def test_the_only_version_can_be_named(s3, filled):
    place = {"Bucket": filled, "Key": "main/a"}
    assert s3.get_object(**place, VersionId="null")["Body"].read() == b"a"
    for operation in (s3.get_object, s3.delete_object):
        with pytest.raises(ClientError) as error:
            operation(**place, VersionId="other")
        assert code(error) == ("NoSuchVersion", 404)
    s3.delete_object(**place, VersionId="null")
    assert "main/a" not in str(s3.list_objects_v2(Bucket=filled, Prefix="main/"))


def test_restore_of_an_unarchived_object_fails(s3, filled):
    with pytest.raises(ClientError) as error:
        s3.restore_object(Bucket=filled, Key="main/a", RestoreRequest={"Days": 1})
    assert code(error) == ("InvalidObjectState", 403)
    with pytest.raises(ClientError) as error:
        s3.restore_object(Bucket=filled, Key="main/none", RestoreRequest={"Days": 1})
    assert code(error) == ("NoSuchKey", 404)


def test_objects_are_not_queried(s3, filled):
    csv = {"InputSerialization": {"CSV": {}}, "OutputSerialization": {"CSV": {}}}
    with pytest.raises(ClientError) as error:
        s3.select_object_content(
            Bucket=filled, Key="main/a", ExpressionType="SQL", Expression="SELECT 1", **csv
        )
    assert code(error) == ("MethodNotAllowed", 405)


def test_buckets_are_not_deleted(s3, filled):
    with pytest.raises(ClientError) as error:
        s3.delete_bucket(Bucket=filled)
    assert code(error) == ("MethodNotAllowed", 405)
    with pytest.raises(ClientError) as error:
        s3.delete_bucket(Bucket="no-such-bucket")
    assert code(error) == ("NoSuchBucket", 404)
    assert len(s3.list_objects_v2(Bucket=filled, Prefix="main/")["Contents"]) == len(KEYS)
