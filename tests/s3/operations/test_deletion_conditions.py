"""Deleting on condition, through boto3 and as requests are sent."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from botocore.exceptions import ClientError


def code(error) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.fixture
def abc(s3, bucket):
    """An object, and what is known of it."""
    place = {"Bucket": bucket, "Key": "main/abc"}
    s3.put_object(**place, Body=b"green")
    return place, s3.head_object(**place)


def test_an_object_is_deleted_if_it_is_the_one_that_is_named(s3, abc):
    place, head = abc
    moved = head["LastModified"] + timedelta(seconds=1)
    wrong = [
        {"IfMatch": '"other"'},
        {"IfMatchSize": 4},
        {"IfMatchLastModifiedTime": moved},
        {"IfMatch": head["ETag"], "IfMatchSize": 4},
    ]
    for condition in wrong:
        with pytest.raises(ClientError) as error:
            s3.delete_object(**place, **condition)
        assert code(error) == ("PreconditionFailed", 412)
        assert s3.head_object(**place)["ETag"] == head["ETag"]
    right = [
        {"IfMatch": head["ETag"]},
        {"IfMatch": head["ETag"].strip('"')},
        {"IfMatch": "*"},
        {"IfMatchSize": 5},
        {"IfMatchLastModifiedTime": head["LastModified"]},
    ]
    for condition in right:
        s3.put_object(**place, Body=b"green")
        if "IfMatchLastModifiedTime" in condition:
            condition = {"IfMatchLastModifiedTime": s3.head_object(**place)["LastModified"]}  # noqa: PLW2901
        s3.delete_object(**place, **condition)
        with pytest.raises(ClientError):
            s3.head_object(**place)


@pytest.mark.parametrize("key", ["main/none", "nothing/none", "main", "main/"])
def test_condition_matches_the_etag_of_an_existing_object(s3, bucket, key):
    for etag in ("*", '"0"'):
        with pytest.raises(ClientError) as error:
            s3.delete_object(Bucket=bucket, Key=key, IfMatch=etag)
        assert code(error) == ("NoSuchKey", 404)
    s3.delete_object(Bucket=bucket, Key=key, IfMatchSize=7)


def test_each_key_of_delete_objects_has_its_own_condition(s3, bucket):
    etags = {}
    for key in ("main/a", "main/b", "main/c", "main/d"):
        etags[key] = s3.put_object(Bucket=bucket, Key=key, Body=key.encode())["ETag"]
    objects = [
        {"Key": "main/a", "ETag": etags["main/a"]},
        {"Key": "main/b", "ETag": etags["main/a"]},
        {"Key": "main/c", "Size": 6},
        {"Key": "main/d", "Size": 7},
        {"Key": "main/none", "ETag": "0"},
        {"Key": "main/nothing", "Size": 1},
    ]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert {item["Key"] for item in answer["Deleted"]} == {"main/a", "main/c", "main/nothing"}
    assert {item["Key"]: item["Code"] for item in answer["Errors"]} == {
        "main/b": "PreconditionFailed",
        "main/d": "PreconditionFailed",
        "main/none": "NoSuchKey",
    }
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert [item["Key"] for item in listed] == ["main/b", "main/d"]


def test_one_key_on_two_conditions_is_refused(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="main/a", Body=b"a")["ETag"]
    objects = [{"Key": "main/a", "ETag": etag}, {"Key": "main/a", "ETag": "other"}]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    assert {item["Code"] for item in answer["Errors"]} == {"InvalidRequest"}
    assert s3.head_object(Bucket=bucket, Key="main/a")


def test_one_of_many_concurrent_conditional_deletions_succeeds(s3, bucket):
    key, outcomes, lock = {"Bucket": bucket, "Key": "main/a"}, [], threading.Lock()
    etag = s3.put_object(**key, Body=b"one")["ETag"]
    barrier = threading.Barrier(8)

    def delete():
        barrier.wait()
        try:
            s3.delete_object(**key, IfMatch=etag)
            outcome = "deleted"
        except ClientError as error:
            outcome = error.response["Error"]["Code"]
        with lock:
            outcomes.append(outcome)

    threads = [threading.Thread(target=delete) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["NoSuchKey"] * 7 + ["deleted"]
