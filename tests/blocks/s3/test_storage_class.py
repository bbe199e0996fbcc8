"""The storage class of an object that another program has stored."""

from __future__ import annotations

import boto3
import pytest
from support.services.s3_service import CREDENTIALS

from anabranch.errors import Invalid


def test_a_class_other_than_the_default_is_read(s3, s3_store, bucket):
    client = boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        region_name=s3.region,
        aws_access_key_id=CREDENTIALS.access_key_id,
        aws_secret_access_key=CREDENTIALS.secret.reveal(),
    )
    for key, stored in (("a b/1", {}), ("a b/2", {"StorageClass": "REDUCED_REDUNDANCY"})):
        client.put_object(Bucket=bucket, Key=key, Body=b"x", **stored)
    assert s3_store.storage_class(f"s3://{bucket}/a b/1") == "STANDARD"
    assert s3_store.storage_class(f"s3://{bucket}/a b/2") == "REDUCED_REDUNDANCY"


@pytest.mark.parametrize("size", [10, 9 << 20], ids=["small", "in parts"])
def test_a_block_is_stored_in_a_class(s3_store, bucket, size):
    address, body = f"s3://{bucket}/block", b"x" * size
    stored = s3_store.put(address, [body], storage_class="REDUCED_REDUNDANCY")
    assert stored.size == size
    assert s3_store.storage_class(address) == "REDUCED_REDUNDANCY"
    assert s3_store.read(address) == body


@pytest.mark.parametrize("name", ["LUKEWARM", "standard", "A\r\nX-Evil: 1", "é"])
def test_an_unknown_class_is_invalid_and_stores_nothing(s3_store, bucket, name):
    address = f"s3://{bucket}/block"
    with pytest.raises(Invalid) as caught:
        s3_store.put(address, [b"x"], storage_class=name)
    assert caught.value.kind == "invalid_storage_class"
    assert s3_store.stat(address) is None
