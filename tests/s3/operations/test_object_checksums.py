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

from .conftest import boto3_client

ALGORITHMS = ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]
LEAST = 5 << 20
BIG = os.urandom(1 << 16) * (LEAST >> 16)
ALL = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]
MODE = {"ChecksumMode": "ENABLED"}


def place(bucket, path="a"):
    return {"Bucket": bucket, "Key": f"main/{path}"}


def checksums(answer):
    return {name: answer[name] for name in answer if name.startswith("Checksum")}


def sent_checksum(algorithm, body):
    return {f"Checksum{algorithm}": checksum(algorithm.lower(), body)}


def crc32(body):
    return {**sent_checksum("CRC32", body), "ChecksumType": "FULL_OBJECT"}


def code(error):
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.fixture
def put_parts(s3, bucket):
    """Uploads bodies as the parts of an object, and returns the answer to its completion."""

    def put(bodies, path="a", numbers=None, algorithm="CRC32", **options):
        where = place(bucket, path)
        options = {"ChecksumAlgorithm": algorithm, **options}
        where["UploadId"] = s3.create_multipart_upload(**where, **options)["UploadId"]
        parts = []
        for number, body in zip(numbers or range(1, len(bodies) + 1), bodies, strict=True):
            sent = sent_checksum(algorithm, body)
            answer = s3.upload_part(**where, PartNumber=number, Body=body, **sent)
            parts.append({"PartNumber": number, "ETag": answer["ETag"], **sent})
        return s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})

    return put


@pytest.fixture
def commit(api, bucket):
    def commit(message="m"):
        url = f"/repositories/{bucket}/branches/main/commits"
        return api.post(url, json={"message": message})

    return commit


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_reads_return_the_checksum_of_the_upload(s3, bucket, commit, algorithm):
    # boto3 computes some of them only with a library that is not here
    sent = sent_checksum(algorithm, b"tea")
    s3.put_object(**place(bucket), Body=b"tea", **sent)
    expected = {**sent, "ChecksumType": "FULL_OBJECT"}
    for _ in range(2):
        assert checksums(s3.head_object(**place(bucket), **MODE)) == expected
        assert checksums(s3.head_object(**place(bucket))) == {}
        got = s3.get_object(**place(bucket), **MODE)
        assert checksums(got) == expected
        assert got["Body"].read() == b"tea"
        result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
        assert result["Checksum"] == expected
        assert "ObjectParts" not in result
        assert commit().status_code in (201, 400)


def test_boto3_validates_what_it_reads(s3, bucket):
    s3.put_object(**place(bucket), Body=b"tea" * 1000)
    got = s3.get_object(**place(bucket))
    assert type(got["Body"]).__name__ == "StreamingChecksumBody"
    assert got["Body"].read() == b"tea" * 1000
    # what boto3 compares is what is kept: another checksum over the same bytes is an error
    shown = s3.get_object(**place(bucket))
    shown["Body"]._expected = "AAAAAA=="
    with pytest.raises(FlexibleChecksumError):
        shown["Body"].read()


def test_ranges_and_unchanged_objects_have_no_checksum(s3, bucket):
    etag = s3.put_object(**place(bucket), Body=b"tea")["ETag"]
    part = s3.get_object(**place(bucket), Range="bytes=1-2")
    assert (checksums(part), part["Body"].read()) == ({}, b"ea")
    with pytest.raises(ClientError) as error:
        s3.head_object(**place(bucket), IfNoneMatch=etag, **MODE)
    assert "x-amz-checksum-crc32" not in error.value.response["ResponseMetadata"]["HTTPHeaders"]


def test_an_upload_without_a_checksum_has_none(api, s3, bucket):
    api.post(f"/repositories/{bucket}/branches/main/objects", params={"path": "a"}, content=b"tea")
    assert checksums(s3.head_object(**place(bucket), **MODE)) == {}
    result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
    assert result.get("Checksum") is None
    assert s3.get_object(**place(bucket))["Body"].read() == b"tea"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_object_in_parts_keeps_its_checksums(s3, bucket, put_parts, commit, algorithm):
    bodies = [BIG, BIG, b"end"]
    done = put_parts(bodies, algorithm=algorithm)
    name = f"Checksum{algorithm}"
    commit().raise_for_status()
    result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
    assert result["Checksum"] == {name: done[name], "ChecksumType": done["ChecksumType"]}
    assert result["ETag"] == done["ETag"].strip('"')
    parts = result["ObjectParts"]
    assert (parts["TotalPartsCount"], parts["IsTruncated"], parts["MaxParts"]) == (3, False, 1000)
    assert parts["Parts"] == [
        {"PartNumber": number, "Size": len(body), name: checksum(algorithm.lower(), body)}
        for number, body in enumerate(bodies, 1)
    ]
    assert checksums(s3.head_object(**place(bucket), **MODE)) == checksums(done)
    got = s3.get_object(**place(bucket))
    assert checksums(got) == checksums(done)
    assert got["Body"].read() == b"".join(bodies)
    part = s3.get_object(**place(bucket), PartNumber=3, **MODE)
    assert part[name] == checksum(algorithm.lower(), b"end")
    assert part["ChecksumType"] == done["ChecksumType"]


@pytest.mark.parametrize("numbers", [[1, 2, 3], [2, 70, 9_999]])
def test_parts_are_read_by_number(s3, bucket, put_parts, numbers):
    bodies = [BIG, BIG + b"more", b"end"]
    put_parts(bodies, numbers=numbers)
    start = 0
    for number, body in enumerate(bodies, 1):
        for read in (s3.head_object, s3.get_object):
            got = read(**place(bucket), PartNumber=number, **MODE)
            assert (got["PartsCount"], got["ContentLength"]) == (3, len(body))
            assert got["ContentRange"] == (
                f"bytes {start}-{start + len(body) - 1}/{sum(map(len, bodies))}"
            )
            assert got["ResponseMetadata"]["HTTPStatusCode"] == 206
            assert got["ChecksumCRC32"] == checksum("crc32", body)
        assert got["Body"].read() == body
        start += len(body)
    with pytest.raises(ClientError) as error:
        s3.get_object(**place(bucket), PartNumber=4)
    assert code(error) == ("InvalidPart", 400)
    assert "PartsCount" not in s3.head_object(**place(bucket))


def test_an_object_of_one_piece_has_no_parts(s3, bucket):
    s3.put_object(**place(bucket), Body=b"tea")
    got = s3.get_object(**place(bucket), PartNumber=1)
    assert "PartsCount" not in got
    assert checksums(got) == crc32(b"tea")
    assert got["Body"].read() == b"tea"


def test_empty_parts_can_be_read(s3, bucket, put_parts):
    put_parts([BIG, b""])
    got = s3.get_object(**place(bucket), PartNumber=2)
    assert (got["ContentLength"], got["Body"].read(), got["PartsCount"]) == (0, b"", 2)
    assert "ContentRange" not in got
    put_parts([b""], "empty")
    got = s3.get_object(**place(bucket, "empty"), PartNumber=1)
    assert (got["ContentLength"], got["PartsCount"]) == (0, 1)


def test_parts_are_paged(s3, bucket, put_parts):
    put_parts([BIG, BIG, BIG, b"end"])

    def page(**options):
        result = s3.get_object_attributes(
            **place(bucket), ObjectAttributes=["ObjectParts"], **options
        )["ObjectParts"]
        listed = [part["PartNumber"] for part in result.get("Parts", [])]
        return listed, result["IsTruncated"], result["NextPartNumberMarker"]

    assert page(MaxParts=3) == ([1, 2, 3], True, 3)
    assert page(MaxParts=3, PartNumberMarker=3) == ([4], False, 4)
    assert page(MaxParts=5000, PartNumberMarker=1) == ([2, 3, 4], False, 4)
    assert page(PartNumberMarker=400) == ([], False, 4)
    assert page(MaxParts=0) == ([], False, 0)
    for options in ({"MaxParts": -1}, {"PartNumberMarker": -1}):
        with pytest.raises(ClientError) as error:
            page(**options)
        assert code(error) == ("InvalidArgument", 400)


def test_parts_without_checksums_are_only_counted(s3, bucket, server):
    without_checksums = boto3_client(server, request_checksum_calculation="when_required")
    where = place(bucket)
    where["UploadId"] = without_checksums.create_multipart_upload(**where)["UploadId"]
    s3.put_object(**place(bucket, "source"), Body=BIG + b"end")
    parts = []
    for number, span in ((1, f"0-{LEAST - 1}"), (2, f"{LEAST}-{LEAST + 2}")):
        source = f"{bucket}/main/source"
        answer = s3.upload_part_copy(
            **where, PartNumber=number, CopySource=source, CopySourceRange=f"bytes={span}"
        )
        etag = answer["CopyPartResult"]["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})
    result = s3.get_object_attributes(**place(bucket), ObjectAttributes=ALL)
    assert result["ObjectParts"] == {"TotalPartsCount": 2}
    got = s3.get_object(**place(bucket), PartNumber=2, **MODE)
    assert (checksums(got), got["Body"].read()) == ({}, b"end")


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC64NVME", "SHA256"])
def test_parts_that_are_copied_have_the_checksum_of_the_upload(s3, bucket, algorithm):
    name = f"Checksum{algorithm}"
    sent = sent_checksum(algorithm, BIG + b"end")
    s3.put_object(**place(bucket, "source"), Body=BIG + b"end", **sent)
    where = place(bucket)
    begun = s3.create_multipart_upload(**where, ChecksumAlgorithm=algorithm)
    where["UploadId"] = begun["UploadId"]
    source = f"{bucket}/main/source"
    bodies, parts = [BIG + b"end", b"nd"], []
    for number, span in enumerate([{}, {"CopySourceRange": f"bytes={LEAST + 1}-{LEAST + 2}"}], 1):
        result = s3.upload_part_copy(**where, PartNumber=number, CopySource=source, **span)
        result = result["CopyPartResult"]
        assert result[name] == checksum(algorithm.lower(), bodies[number - 1])
        parts.append({"PartNumber": number, "ETag": result["ETag"], name: result[name]})
    assert [part[name] for part in s3.list_parts(**where)["Parts"]] == [p[name] for p in parts]
    done = s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})
    got = s3.get_object(**place(bucket))
    assert checksums(got) == checksums(done)
    assert got["Body"].read() == b"".join(bodies)


def test_copies_have_the_checksum_of_their_source(s3, bucket, new_bucket, put_parts):
    s3.put_object(**place(bucket), Body=b"tea", Metadata={"a": "1"})
    put_parts([BIG, b"end"], "parts")
    other = new_bucket()
    for options in ({}, {"MetadataDirective": "REPLACE"}, {"TaggingDirective": "REPLACE"}):
        result = s3.copy_object(**place(other), CopySource=f"{bucket}/main/a", **options)
        assert checksums(result["CopyObjectResult"]) == crc32(b"tea")
        assert checksums(s3.head_object(**place(other), **MODE)) == crc32(b"tea")
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
def test_a_copy_may_ask_for_another_checksum(api, s3, bucket, put_parts, algorithm, source):
    body = b"tea"
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
    s3.put_object(**place(bucket), Body=b"tea")
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
    s3.put_object(**place(bucket), Body=b"tea", Metadata={"k": "v"})
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
        s3.put_object(**place(bucket), Body=b"tea", ContentType="text/plain", **options)

    def diff():
        return api.get(f"/repositories/{bucket}/branches/main/diff").json()["results"]

    path = f"/repositories/{bucket}/branches/main/objects"
    headers = {"content-type": "text/plain"}
    api.post(path, params={"path": "a"}, content=b"tea", headers=headers)
    commit().raise_for_status()
    put()
    assert diff() == []
    assert commit().json()["message"] == "commit: no changes"
    put(ChecksumAlgorithm="SHA256")
    assert diff() == []
    put(Metadata={"k": "v"})
    assert [item["type"] for item in diff()] == ["changed"]


def test_merges_take_equal_bytes_for_equal(api, s3, bucket, commit):
    s3.put_object(**place(bucket), Body=b"tea")
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
    s3.put_object(**place(bucket), Body=b"tea")
    signing = boto3_client(server, signature_version=version)
    url = signing.generate_presigned_url("get_object", Params={**place(bucket), **MODE})
    headers = {"x-amz-checksum-mode": "ENABLED"} if version == "s3v4" else {}
    answer = httpx2.get(url, headers=headers)
    assert answer.headers["x-amz-checksum-crc32"] == checksum("crc32", b"tea")
    asked = {**place(bucket), "ObjectAttributes": ["Checksum", "ObjectSize"]}
    url = signing.generate_presigned_url("get_object_attributes", Params=asked)
    headers = {"x-amz-object-attributes": "Checksum,ObjectSize"} if version == "s3v4" else {}
    answer = httpx2.get(url, headers=headers)
    assert answer.status_code == 200, answer.text
    assert checksum("crc32", b"tea") in answer.text
