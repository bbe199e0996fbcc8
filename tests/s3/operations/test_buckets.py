"""Buckets and their sub-resources through boto3."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from anabranch.s3.table import OPERATIONS
from anabranch.testing.server import running_server

from .conftest import boto3_client


def code(error) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_buckets_are_repositories(s3, new_bucket):
    made = {new_bucket() for _ in range(3)}
    listed = s3.list_buckets()
    assert made <= {bucket["Name"] for bucket in listed["Buckets"]}
    assert all(bucket["CreationDate"] for bucket in listed["Buckets"])
    one = min(made)
    assert one in {bucket["Name"] for bucket in s3.list_buckets(Prefix=one)["Buckets"]}
    assert s3.list_buckets(Prefix="no-such")["Buckets"] == []
    head = s3.head_bucket(Bucket=one)
    assert head["BucketRegion"] == "us-east-1"
    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket="no-such-bucket")
    assert code(error) == ("404", 404)


def test_buckets_are_listed_page_by_page(s3, new_bucket):
    made = sorted(new_bucket() for _ in range(3))
    every = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
    paged, token = [], ""
    while token is not None:
        asked = {"ContinuationToken": token} if token else {}
        page = s3.list_buckets(MaxBuckets=2, **asked)
        assert 0 < len(page["Buckets"]) <= 2
        paged += [bucket["Name"] for bucket in page["Buckets"]]
        token = page.get("ContinuationToken")
    assert paged == every
    paginator = s3.get_paginator("list_buckets")
    pages = paginator.paginate(Prefix=made[0], PaginationConfig={"PageSize": 1})
    found = [bucket["Name"] for page in pages for bucket in page["Buckets"]]
    assert found == [name for name in every if name.startswith(made[0])]
    assert {page["Prefix"] for page in pages} == {made[0]}


def test_buckets_are_all_in_the_region_of_the_server(s3, bucket):
    listed = s3.list_buckets(BucketRegion="us-east-1", ContinuationToken="")["Buckets"]
    assert bucket in {found["Name"] for found in listed}
    assert s3.list_buckets(BucketRegion="eu-west-1")["Buckets"] == []


@pytest.mark.parametrize("wrong", [0, -1, 10_001])
def test_a_page_has_one_to_ten_thousand_buckets(server, wrong):
    s3 = boto3_client(server, parameter_validation=False)
    with pytest.raises(ClientError) as error:
        s3.list_buckets(MaxBuckets=wrong)
    assert code(error) == ("InvalidArgument", 400)


def test_buckets_are_neither_made_nor_removed_here(s3, bucket):
    with pytest.raises(ClientError) as error:
        s3.create_bucket(Bucket=bucket)
    assert code(error) == ("BucketAlreadyExists", 409)
    with pytest.raises(ClientError) as error:
        s3.create_bucket(Bucket="quite-new")
    assert code(error) == ("NotImplemented", 501)
    with pytest.raises(ClientError) as error:
        s3.delete_bucket(Bucket=bucket)
    assert code(error) == ("MethodNotAllowed", 405)
    assert s3.head_bucket(Bucket=bucket)


def test_buckets_are_made_where_the_settings_say(tmp_path):
    made_in = {"ANABRANCH_BLOCKSTORE_DEFAULT_NAMESPACE_PREFIX": "local://made/"}
    with running_server(tmp_path, env=made_in) as server:
        s3 = boto3_client(server)
        s3.create_bucket(Bucket="quite-new")
        s3.put_object(Bucket="quite-new", Key="main/a", Body=b"abc")
        with pytest.raises(ClientError) as error:
            s3.create_bucket(Bucket="quite-new")
        assert code(error) == ("BucketAlreadyExists", 409)
        with pytest.raises(ClientError) as error:
            s3.create_bucket(Bucket="not.a.repository")
        assert code(error) == ("InvalidBucketName", 400)


def test_constant_configurations_of_buckets(s3, bucket):
    assert s3.get_bucket_location(Bucket=bucket)["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket=bucket)
    acl = s3.get_bucket_acl(Bucket=bucket)
    assert [grant["Permission"] for grant in acl["Grants"]] == ["FULL_CONTROL"]
    assert acl["Grants"][0]["Grantee"]["ID"] == acl["Owner"]["ID"]
    assert s3.get_bucket_request_payment(Bucket=bucket)["Payer"] == "BucketOwner"
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket=bucket)
    assert "Status" not in s3.get_bucket_accelerate_configuration(Bucket=bucket)
    s3.get_bucket_notification_configuration(Bucket=bucket)
    with pytest.raises(ClientError) as error:
        s3.get_bucket_acl(Bucket="no-such-bucket")
    assert code(error) == ("NoSuchBucket", 404)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("get_bucket_cors", "NoSuchCORSConfiguration"),
        ("get_bucket_encryption", "ServerSideEncryptionConfigurationNotFoundError"),
        ("get_bucket_lifecycle_configuration", "NoSuchLifecycleConfiguration"),
        ("get_object_lock_configuration", "ObjectLockConfigurationNotFoundError"),
        ("get_bucket_ownership_controls", "OwnershipControlsNotFoundError"),
        ("get_bucket_policy", "NoSuchBucketPolicy"),
        ("get_bucket_policy_status", "NoSuchBucketPolicy"),
        ("get_public_access_block", "NoSuchPublicAccessBlockConfiguration"),
        ("get_bucket_replication", "ReplicationConfigurationNotFoundError"),
        ("get_bucket_tagging", "NoSuchTagSet"),
        ("get_bucket_website", "NoSuchWebsiteConfiguration"),
    ],
)
def test_absent_configurations_return_their_errors(s3, bucket, operation, expected):
    with pytest.raises(ClientError) as error:
        getattr(s3, operation)(Bucket=bucket)
    assert code(error) == (expected, 404)


def test_acl_of_objects(s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"")
    acl = s3.get_object_acl(Bucket=bucket, Key="main/a")
    assert [grant["Permission"] for grant in acl["Grants"]] == ["FULL_CONTROL"]
    with pytest.raises(ClientError) as error:
        s3.get_object_acl(Bucket=bucket, Key="main/none")
    assert code(error) == ("NoSuchKey", 404)
    with pytest.raises(ClientError) as error:
        s3.get_object_retention(Bucket=bucket, Key="main/a")
    assert code(error) == ("NoSuchObjectLockConfiguration", 404)


def test_unsupported_operation_is_rejected_and_changes_nothing(s3, bucket):
    place = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**place, Body=b"abc")
    refused = [
        lambda: s3.put_object_acl(**place, ACL="private"),
        lambda: s3.put_bucket_versioning(
            Bucket=bucket, VersioningConfiguration={"Status": "Enabled"}
        ),
        lambda: s3.delete_bucket_policy(Bucket=bucket),
    ]
    for request in refused:
        with pytest.raises(ClientError) as error:
            request()
        assert code(error) == ("NotImplemented", 501)
    for operation in (s3.get_object, s3.delete_object):
        with pytest.raises(ClientError) as error:
            operation(**place, VersionId="1")
        assert code(error) == ("NoSuchVersion", 404)
    assert s3.get_object(**place)["Body"].read() == b"abc"


def test_the_table_of_operations():
    places = [(operation.method, operation.level, operation.on) for operation in OPERATIONS]
    assert len(set(places)) == len(places)
    assert len({operation.id for operation in OPERATIONS}) == len(OPERATIONS)
