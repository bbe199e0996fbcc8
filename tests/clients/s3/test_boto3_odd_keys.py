"""Odd keys through boto3: what it sends for all of them is true, so none is left out."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from support.clients.odd_keys import BRANCH, ODD_KEYS, not_in_xml
from support.clients.round_trip import round_trip
from support.session.sizes import sized


class Keys:
    """boto3 as a client of keys."""

    def __init__(self, s3, bucket, listing="list_objects_v2"):
        self.s3 = s3
        self.bucket = bucket
        self.listing = listing

    def put(self, key, content):
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=content)

    def get(self, key):
        return self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    def size(self, key):
        return self.s3.head_object(Bucket=self.bucket, Key=key)["ContentLength"]

    def keys(self, branch):
        pages = self.s3.get_paginator(self.listing).paginate(
            Bucket=self.bucket, Prefix=f"{branch}/", PaginationConfig={"PageSize": 50}
        )
        return [item["Key"] for page in pages for item in page.get("Contents", ())]

    def copy(self, source, target):
        origin = {"Bucket": self.bucket, "Key": source}
        self.s3.copy_object(Bucket=self.bucket, Key=target, CopySource=origin)

    def delete(self, key):
        self.s3.delete_object(Bucket=self.bucket, Key=key)


@pytest.mark.parametrize(
    ("signature", "listing"),
    [
        ("s3v4", "list_objects_v2"),
        pytest.param("s3", "list_objects", marks=pytest.mark.slow),
    ],
)
def test_all_keys_make_the_round_trip(make_s3, odd_bucket, signature, listing):
    round_trip(
        Keys(make_s3(signature_version=signature), odd_bucket, listing),
        ODD_KEYS[:: sized(3, weekly=1)],
    )


@pytest.mark.slow  # the round trip above; tests/s3
def test_those_that_xml_can_hold_are_deleted_at_once(s3, repo):
    """boto3 writes characters that XML 1.0 has not as they are, which no parser reads."""
    paths = [path for path in ODD_KEYS if not not_in_xml(path)]
    keys = [f"{BRANCH}/{path}" for path in paths]
    client = Keys(s3, repo.id)
    for key in keys:
        client.put(key, b"")
    deleted = s3.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": key} for key in keys]})
    assert "Errors" not in deleted
    assert [item["Key"] for item in deleted["Deleted"]] == keys
    assert client.keys(BRANCH) == []
    with pytest.raises(ClientError) as caught:
        s3.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "main/\x01"}]})
    assert caught.value.response["Error"]["Code"] == "MalformedXML"
