"""Attributes of objects, through boto3."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from support.clients.s3_uploads import checksum

ALL = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]


def test_attributes_are_those_that_are_asked_for(s3, bucket):
    place = {"Bucket": bucket, "Key": "main/ü b"}
    etag = s3.put_object(**place, Body=b"abc")["ETag"]
    got = s3.get_object_attributes(**place, ObjectAttributes=ALL)
    assert got["LastModified"] == s3.head_object(**place)["LastModified"]
    assert {name: got.get(name) for name in ALL} == {
        "ETag": etag.strip('"'),
        "Checksum": {"ChecksumCRC32": checksum("crc32", b"abc"), "ChecksumType": "FULL_OBJECT"},
        "ObjectParts": None,
        "StorageClass": "STANDARD",
        "ObjectSize": 3,
    }
    few = s3.get_object_attributes(**place, ObjectAttributes=["ObjectSize"])
    assert [name for name in ALL if name in few] == ["ObjectSize"]


@pytest.mark.parametrize(
    ("key", "asked", "expected"),
    [
        ("main/none", ["ETag"], "NoSuchKey"),
        ("nothing/a", ["ETag"], "NoSuchKey"),
        ("main/a", ["Colour"], "InvalidArgument"),
        ("main/a", [""], "InvalidRequest"),
    ],
)
def test_attributes_of_missing_object_or_bad_request_fail(s3, bucket, key, asked, expected):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")
    with pytest.raises(ClientError) as error:
        s3.get_object_attributes(Bucket=bucket, Key=key, ObjectAttributes=asked)
    assert error.value.response["Error"]["Code"] == expected
