"""boto3, the newest, with its defaults: objects, conditions, pages, waiters and its resources."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError


def code_of(caught):
    return caught.value.response["Error"]["Code"]


@pytest.fixture
def lake(repo, s3):
    """The repository as a bucket of boto3's resources."""
    resource = boto3.resource(
        "s3",
        endpoint_url=s3.meta.endpoint_url,
        aws_access_key_id=repo.sdk._api.configuration.username,
        aws_secret_access_key=repo.sdk._api.configuration.password,
        region_name="us-east-1",
    )
    return resource.Bucket(repo.id)


@pytest.mark.wiring
def test_an_object_has_the_checksum_that_boto3_computes_unasked(s3, repo):
    body = b"depth\n10935\n"
    result = s3.put_object(Bucket=repo.id, Key="main/depth.csv", Body=body)
    assert result["ChecksumCRC32"] == base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
    assert result["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    got = s3.get_object(Bucket=repo.id, Key="main/depth.csv")
    assert got["Body"].read() == body
    assert got["ETag"] == result["ETag"]
    assert got["ContentLength"] == len(body)
    assert repo.get("depth.csv") == body


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_that_are_asked_for(s3, repo, algorithm):
    result = s3.put_object(
        Bucket=repo.id, Key="main/a", Body=b"content", ChecksumAlgorithm=algorithm
    )
    assert result[f"Checksum{algorithm}"]


@pytest.mark.parametrize("when", ["when_supported", "when_required"])
def test_bodies_of_every_kind(make_s3, repo, when, tmp_path):
    s3 = make_s3(request_checksum_calculation=when)
    content = bytes(range(256)) * 4096
    file = tmp_path / "content"
    file.write_bytes(content)
    with file.open("rb") as opened:
        for number, body in enumerate([content, bytearray(content), io.BytesIO(content), opened]):
            s3.put_object(Bucket=repo.id, Key=f"main/{number}", Body=body)
            got = s3.get_object(Bucket=repo.id, Key=f"main/{number}")["Body"]
            assert b"".join(got.iter_chunks(100_000)) == content
    s3.put_object(Bucket=repo.id, Key="main/text", Body="Mariana\n")
    assert list(s3.get_object(Bucket=repo.id, Key="main/text")["Body"].iter_lines()) == [b"Mariana"]
    s3.put_object(Bucket=repo.id, Key="main/empty")
    assert s3.head_object(Bucket=repo.id, Key="main/empty")["ContentLength"] == 0


def test_errors_have_the_classes_that_boto3_knows(s3, repo):
    with pytest.raises(s3.exceptions.NoSuchKey):
        s3.get_object(Bucket=repo.id, Key="main/none")
    with pytest.raises(s3.exceptions.NoSuchBucket):
        s3.list_objects_v2(Bucket="nobody-has-this")
    with pytest.raises(s3.exceptions.NoSuchBucket):
        s3.put_object(Bucket=repo.id, Key="no-branch/a", Body=b"")
    with pytest.raises(ClientError) as caught:
        s3.head_object(Bucket=repo.id, Key="main/none")
    assert code_of(caught) == "404"


def put(s3, **request):
    """Returns the code of the error with which a condition was refused, None where it held."""
    try:
        s3.put_object(**request)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return None


def test_one_of_many_writers_makes_an_object(make_s3, repo):
    """`If-None-Match: *`, asked for by all at once."""
    clients = [make_s3() for _ in range(8)]
    gate = threading.Barrier(len(clients))
    key = {"Bucket": repo.id, "Key": "main/lock"}

    def write(number):
        gate.wait()
        return put(clients[number], **key, Body=str(number).encode(), IfNoneMatch="*")

    with ThreadPoolExecutor(len(clients)) as pool:
        codes = list(pool.map(write, range(len(clients))))
    assert sorted(map(str, codes)) == ["None"] + ["PreconditionFailed"] * 7
    held = clients[0].get_object(**key)["Body"].read()
    assert held == str(codes.index(None)).encode()


def test_no_increment_is_lost(make_s3, repo):
    """`If-Match`, as a compare-and-set: four writers count to ten each."""
    clients = [make_s3() for _ in range(4)]
    key = {"Bucket": repo.id, "Key": "main/count"}
    clients[0].put_object(**key, Body=b"0")

    def increment(s3):
        got = s3.get_object(**key)
        body = str(int(got["Body"].read()) + 1).encode()
        code = put(s3, **key, Body=body, IfMatch=got["ETag"])
        assert code in {None, "PreconditionFailed"}
        return code is None

    def count(s3):
        counted = 0
        while counted < 10:
            counted += increment(s3)

    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(count, clients))
    assert repo.get("count") == b"40"


@pytest.mark.parametrize("operation", ["list_objects", "list_objects_v2"])
def test_pages(s3, repo, operation):
    keys = sorted(f"main/{folder}/{number:02}" for folder in "abc" for number in range(15))
    for key in keys:
        s3.put_object(Bucket=repo.id, Key=key, Body=key.encode())
    paginator = s3.get_paginator(operation)
    pages = list(
        paginator.paginate(Bucket=repo.id, Prefix="main/", PaginationConfig={"PageSize": 7})
    )
    assert [len(page["Contents"]) for page in pages] == [7] * 6 + [3]
    assert [item["Key"] for page in pages for item in page["Contents"]] == keys
    rolled = paginator.paginate(
        Bucket=repo.id, Prefix="main/", Delimiter="/", PaginationConfig={"PageSize": 2}
    )
    assert list(rolled.search("CommonPrefixes[].Prefix")) == ["main/a/", "main/b/", "main/c/"]
    some = paginator.paginate(
        Bucket=repo.id, Prefix="main/", PaginationConfig={"MaxItems": 10, "PageSize": 7}
    ).build_full_result()
    rest = paginator.paginate(
        Bucket=repo.id, Prefix="main/", PaginationConfig={"StartingToken": some["NextToken"]}
    ).build_full_result()
    assert [item["Key"] for item in some["Contents"] + rest["Contents"]] == keys


def test_buckets_are_listed_by_its_paginator(s3, repo):
    pages = s3.get_paginator("list_buckets").paginate(Prefix=repo.id)
    assert [bucket["Name"] for page in pages for bucket in page["Buckets"]] == [repo.id]


def test_waiters(s3, repo):
    quick = {"Delay": 0.05, "MaxAttempts": 100}
    key = {"Bucket": repo.id, "Key": "main/later"}
    s3.get_waiter("bucket_exists").wait(Bucket=repo.id, WaiterConfig=quick)
    s3.get_waiter("bucket_not_exists").wait(Bucket="nobody-has-this", WaiterConfig=quick)
    s3.get_waiter("object_not_exists").wait(**key, WaiterConfig=quick)
    threading.Timer(0.2, s3.put_object, kwargs={**key, "Body": b""}).start()
    s3.get_waiter("object_exists").wait(**key, WaiterConfig=quick)
    threading.Timer(0.2, s3.delete_object, kwargs=key).start()
    s3.get_waiter("object_not_exists").wait(**key, WaiterConfig=quick)
    with pytest.raises(WaiterError):
        s3.get_waiter("object_exists").wait(**key, WaiterConfig={"Delay": 0, "MaxAttempts": 1})


def test_resources(lake, repo):
    written = lake.put_object(Key="main/a/1", Body=b"one", Metadata={"depth": "10935"})
    assert (written.key, written.content_length) == ("main/a/1", 3)
    assert written.metadata == {"depth": "10935"}
    lake.Object("main/a/2").put(Body=b"two")
    lake.Object("main/b").copy_from(CopySource={"Bucket": repo.id, "Key": "main/a/1"})
    assert [item.key for item in lake.objects.filter(Prefix="main/")] == [
        "main/a/1",
        "main/a/2",
        "main/b",
    ]
    assert [item.size for item in lake.objects.filter(Prefix="main/").limit(2)] == [3, 3]
    assert lake.Object("main/b").get()["Body"].read() == b"one"
    (deleted,) = lake.objects.filter(Prefix="main/a/").delete()
    assert {item["Key"] for item in deleted["Deleted"]} == {"main/a/1", "main/a/2"}
    lake.Object("main/b").delete()
    assert list(lake.objects.filter(Prefix="main/")) == []
    assert lake.creation_date is not None


def test_committed_object_is_readable_at_any_reference(s3, repo):
    s3.put_object(Bucket=repo.id, Key="main/a", Body=b"first")
    commit = repo.commit()
    s3.put_object(Bucket=repo.id, Key="main/a", Body=b"second")
    repo.commit()
    repo.branch("other", "main~1")
    s3.put_object(Bucket=repo.id, Key="other/b", Body=b"on a branch")
    for ref, expected in {
        "main": b"second",
        "main~1": b"first",
        commit.id: b"first",
        "other": b"first",
    }.items():
        assert s3.get_object(Bucket=repo.id, Key=f"{ref}/a")["Body"].read() == expected
    with pytest.raises(ClientError) as caught:
        s3.delete_object(Bucket=repo.id, Key=f"{commit.id}/a")
    assert code_of(caught) == "MethodNotAllowed"
    branches = s3.list_objects_v2(Bucket=repo.id)["CommonPrefixes"]
    assert [item["Prefix"] for item in branches] == ["main/", "other/"]
