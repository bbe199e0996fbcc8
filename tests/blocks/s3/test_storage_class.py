"""The storage class of an object that another program has stored."""

from __future__ import annotations

import boto3
from support.services.s3_service import CREDENTIALS


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
