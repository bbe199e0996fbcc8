"""Checksums and parts that stay with objects, through boto3 and the API."""

from __future__ import annotations

import base64
import json
import os
import zlib

import httpx2
import pytest
from botocore.exceptions import ClientError, FlexibleChecksumError
from support.clients.s3_uploads import checksum

from .conftest import MODE, boto3_client, place, sent_checksum

ALGORITHMS = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]


LEAST = 5 << 20


BIG = os.urandom(1 << 16) * (LEAST >> 16)


ALL = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]


def checksums(answer):
    return {name: answer[name] for name in answer if name.startswith("Checksum")}


def crc32(body):
    return {**sent_checksum("CRC32", body), "ChecksumType": "FULL_OBJECT"}


def code(error):
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_reads_return_the_checksum_of_the_upload(s3, bucket, commit, algorithm):
    # boto3 computes some of them only with a library that is not here
    sent = sent_checksum(algorithm, b"abc")
    s3.put_object(**place(bucket), Body=b"abc", **sent)
    expected = {**sent, "ChecksumType": "FULL_OBJECT"}
    for _ in range(2):
        assert checksums(s3.head_object(**place(bucket), **MODE)) == expected
        assert checksums(s3.head_object(**place(bucket))) == {}
        got = s3.get_object(**place(bucket), **MODE)
        assert checksums(got) == expected
        assert got["Body"].read() == b"abc"
        result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
        assert result["Checksum"] == expected
        assert "ObjectParts" not in result
        assert commit().status_code in (201, 400)


def test_boto3_validates_what_it_reads(s3, bucket):
    s3.put_object(**place(bucket), Body=b"abc" * 1000)
    got = s3.get_object(**place(bucket))
    assert type(got["Body"]).__name__ == "StreamingChecksumBody"
    assert got["Body"].read() == b"abc" * 1000
    # what boto3 compares is what is kept: another checksum over the same bytes is an error
    shown = s3.get_object(**place(bucket))
    shown["Body"]._expected = "AAAAAA=="
    with pytest.raises(FlexibleChecksumError):
        shown["Body"].read()


def test_ranges_and_unchanged_objects_have_no_checksum(s3, bucket):
    etag = s3.put_object(**place(bucket), Body=b"abc")["ETag"]
    part = s3.get_object(**place(bucket), Range="bytes=1-2")
    assert (checksums(part), part["Body"].read()) == ({}, b"bc")
    with pytest.raises(ClientError) as error:
        s3.head_object(**place(bucket), IfNoneMatch=etag, **MODE)
    assert "x-amz-checksum-crc32" not in error.value.response["ResponseMetadata"]["HTTPHeaders"]


def test_an_upload_without_a_checksum_has_none(api, s3, bucket):
    api.post(f"/repositories/{bucket}/branches/main/objects", params={"path": "a"}, content=b"abc")
    assert checksums(s3.head_object(**place(bucket), **MODE)) == {}
    result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
    assert result.get("Checksum") is None
    assert s3.get_object(**place(bucket))["Body"].read() == b"abc"


def test_copies_have_the_checksum_of_their_source(s3, bucket, new_bucket, put_parts):
    s3.put_object(**place(bucket), Body=b"abc", Metadata={"a": "1"})
    put_parts([BIG, b"end"], "parts")
    other = new_bucket()
    for options in ({}, {"MetadataDirective": "REPLACE"}, {"TaggingDirective": "REPLACE"}):
        result = s3.copy_object(**place(other), CopySource=f"{bucket}/main/a", **options)
        assert checksums(result["CopyObjectResult"]) == crc32(b"abc")
        assert checksums(s3.head_object(**place(other), **MODE)) == crc32(b"abc")
    s3.copy_object(**place(other, "parts"), CopySource=f"{bucket}/main/parts")
    both = [
        s3.get_object_attributes(**place(name, "parts"), ObjectAttributes=ALL)
        for name in (bucket, other)
    ]
    assert [{name: response[name] for name in ALL} for response in both[:1]] == [
        {name: response[name] for name in ALL} for response in both[1:]
    ]
    assert both[1]["ObjectParts"]["TotalPartsCount"] == 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("source", ["whole", "parts", "without"])
@pytest.mark.sample(3)
def test_a_copy_may_ask_for_another_checksum(api, s3, bucket, put_parts, algorithm, source):
    body = b"abc"
    if source == "whole":
        s3.put_object(**place(bucket), Body=body)
    elif source == "parts":
        put_parts([BIG, b"end"])
        body = BIG + b"end"
    else:
        path = f"/repositories/{bucket}/branches/main/objects"
        api.post(path, params={"path": "a"}, content=body)
    expected = {**sent_checksum(algorithm, body), "ChecksumType": "FULL_OBJECT"}
    result = s3.copy_object(
        **place(bucket, "b"), CopySource=f"{bucket}/main/a", ChecksumAlgorithm=algorithm
    )
    assert checksums(result["CopyObjectResult"]) == expected
    got = s3.get_object(**place(bucket, "b"))
    assert checksums(got) == expected
    assert got["Body"].read() == body
    assert got["ETag"] == s3.head_object(**place(bucket))["ETag"]


def test_a_copy_by_an_unknown_checksum_is_refused(s3, bucket):
    s3.put_object(**place(bucket), Body=b"abc")
    with pytest.raises(ClientError) as error:
        s3.copy_object(
            **place(bucket, "b"), CopySource=f"{bucket}/main/a", ChecksumAlgorithm="XXHASH3"
        )
    assert code(error) == ("InvalidRequest", 400)
    with pytest.raises(ClientError):
        s3.head_object(**place(bucket, "b"))


def test_rewriting_metadata_keeps_checksums(api, s3, bucket, put_parts):
    where = place(bucket)
    put_parts([BIG, b"end"])
    before = s3.get_object_attributes(**where, ObjectAttributes=ALL)
    objects = f"/repositories/{bucket}/branches/main/objects"

    def unchanged():
        result = s3.get_object_attributes(**where, ObjectAttributes=ALL)
        return [result.get(name) == before[name] for name in ALL] == [True] * len(ALL)

    s3.put_object_tagging(**where, Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    assert unchanged()
    s3.delete_object_tagging(**where)
    assert unchanged()
    forged = {"a": "1", "::anabranch::checksum": "forged", "::anabranch::parts": "forged"}
    url = f"{objects}/stat/user_metadata"
    assert api.put(url, params={"path": "a"}, json={"set": forged}).is_success
    assert unchanged()
    source = f"{bucket}/main/a"
    s3.copy_object(**where, CopySource=source, MetadataDirective="REPLACE", Metadata={"b": "2"})
    assert unchanged()
    stat = api.get(f"/repositories/{bucket}/refs/main/objects/stat", params={"path": "a"}).json()
    body = {name: stat[name] for name in ("physical_address", "checksum", "size_bytes")}
    staged = api.put(objects, params={"path": "a"}, json={**body, "metadata": forged})
    assert staged.is_success
    stat = api.get(f"/repositories/{bucket}/refs/main/objects/stat", params={"path": "a"}).json()
    assert stat["metadata"] == {"a": "1"}
    assert unchanged()
    copy = {"src_path": "a"}
    assert api.post(f"{objects}/copy", params={"dest_path": "b"}, json=copy).is_success
    where = place(bucket, "b")
    assert unchanged()
    # other bytes under the same path have none of it
    api.put(objects, params={"path": "b"}, json={**body, "size_bytes": 3, "checksum": "f" * 32})
    result = s3.get_object_attributes(**where, ObjectAttributes=["Checksum", "ObjectParts"])
    assert ("Checksum" in result, "ObjectParts" in result) == (False, False)


def test_clients_of_the_api_do_not_see_them(api, s3, bucket, put_parts, commit):
    put_parts([BIG, b"end"], "parts")
    s3.put_object(**place(bucket), Body=b"abc", Metadata={"k": "v"})
    refs = f"/repositories/{bucket}/refs"

    def shown():
        yield api.get(f"{refs}/main/objects/ls")
        for path in ("a", "parts"):
            yield api.get(f"{refs}/main/objects/stat", params={"path": path})
            yield api.get(f"{refs}/main/objects", params={"path": path})
            yield api.head(f"{refs}/main/objects", params={"path": path})

    diff = {"include_right_stats": True}
    answers = [
        *shown(),
        api.get(f"/repositories/{bucket}/branches/main/diff", params=diff),
    ]
    commit().raise_for_status()
    answers += [*shown(), api.get(f"{refs}/main~1/diff/main", params=diff)]
    for answer in answers:
        assert answer.is_success
        text = f"{answer.headers}{answer.text[:100_000]}"
        assert "anabranch::" not in text, text[:1000]
    listed = {item["path"]: item for item in answers[0].json()["results"]}
    assert "metadata" not in listed["parts"]
    assert listed["a"]["metadata"] == {"X-Amz-Meta-k": "v"}
    headers = s3.head_object(**place(bucket), **MODE)["ResponseMetadata"]["HTTPHeaders"]
    assert "anabranch::" not in json.dumps(headers)
    assert s3.head_object(**place(bucket))["Metadata"] == {"k": "v"}


def test_equal_bytes_with_another_checksum_are_no_change(api, s3, bucket, commit):
    def put(**options):
        s3.put_object(**place(bucket), Body=b"abc", ContentType="text/plain", **options)

    def diff():
        return api.get(f"/repositories/{bucket}/branches/main/diff").json()["results"]

    path = f"/repositories/{bucket}/branches/main/objects"
    headers = {"content-type": "text/plain"}
    api.post(path, params={"path": "a"}, content=b"abc", headers=headers)
    commit().raise_for_status()
    put()
    assert diff() == []
    assert commit().json()["message"] == "commit: no changes"
    put(ChecksumAlgorithm="SHA256")
    assert diff() == []
    put(Metadata={"k": "v"})
    assert [item["type"] for item in diff()] == ["changed"]


def test_merges_take_equal_bytes_for_equal(api, s3, bucket, commit):
    s3.put_object(**place(bucket), Body=b"abc")
    commit().raise_for_status()
    for name in ("left", "right"):
        url = f"/repositories/{bucket}/branches"
        assert api.post(url, json={"name": name, "source": "main"}).is_success
    for name, algorithm in (("left", "CRC32"), ("right", "SHA1")):
        s3.put_object(Bucket=bucket, Key=f"{name}/a", Body=b"coffee", ChecksumAlgorithm=algorithm)
        url = f"/repositories/{bucket}/branches/{name}/commits"
        assert api.post(url, json={"message": name}).is_success
    assert api.get(f"/repositories/{bucket}/refs/left/diff/right").json()["results"] == []
    for name in ("left", "right"):
        url = f"/repositories/{bucket}/refs/{name}/merge/main"
        assert api.post(url, json={}).status_code in (200, 400)
    got = s3.get_object(**place(bucket))
    assert checksums(got) == crc32(b"coffee")
    assert got["Body"].read() == b"coffee"


def test_the_checksum_of_a_whole_in_crcs_is_that_of_its_bytes(s3, bucket, put_parts):
    done = put_parts([BIG, b"end"], ChecksumType="FULL_OBJECT")
    whole = base64.b64encode(zlib.crc32(BIG + b"end").to_bytes(4)).decode()
    assert done["ChecksumCRC32"] == whole
    got = s3.get_object(**place(bucket))
    assert type(got["Body"]).__name__ == "StreamingChecksumBody"
    assert got["ChecksumCRC32"] == whole
    assert got["Body"].read() == BIG + b"end"


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls_may_ask_for_checksums(s3, bucket, server, version):
    s3.put_object(**place(bucket), Body=b"abc")
    signing = boto3_client(server, signature_version=version)
    url = signing.generate_presigned_url("get_object", Params={**place(bucket), **MODE})
    headers = {"x-amz-checksum-mode": "ENABLED"} if version == "s3v4" else {}
    answer = httpx2.get(url, headers=headers)
    assert answer.headers["x-amz-checksum-crc32"] == checksum("crc32", b"abc")
    asked = {**place(bucket), "ObjectAttributes": ["Checksum", "ObjectSize"]}
    url = signing.generate_presigned_url("get_object_attributes", Params=asked)
    headers = {"x-amz-object-attributes": "Checksum,ObjectSize"} if version == "s3v4" else {}
    answer = httpx2.get(url, headers=headers)
    assert answer.status_code == 200, answer.text
    assert checksum("crc32", b"abc") in answer.text
