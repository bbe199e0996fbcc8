"""Details of S3 that clients depend on, one a test."""

from __future__ import annotations

import hashlib
import http.client
import time
import urllib.parse

import pytest
from botocore.exceptions import ClientError

from anabranch.model.secret import Secret
from anabranch.signing.sign import SigningCredentials, sign_request

from .conftest import boto3_client

MIB = 1 << 20


def refusal(call, **parameters):
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    response = caught.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def begin(s3, place):
    return {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}


@pytest.fixture
def place(bucket):
    return {"Bucket": bucket, "Key": "main/a"}


@pytest.mark.parametrize("size", [0, 5, 3 * MIB])
@pytest.mark.parametrize("signed", [True, False])
def test_an_upload_may_be_transferred_in_chunks(server, s3, place, size, signed):
    """Java's and Go's clients send so what they read from a stream."""
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    path = f"/{place['Bucket']}/{place['Key']}"
    request = sign_request(
        SigningCredentials(server.access_key_id, Secret(server.secret_access_key), "us-east-1"),
        "PUT",
        server.url + path,
        {},
        time=time.time(),
        payload=hashlib.sha256(body).hexdigest() if signed else "UNSIGNED-PAYLOAD",
    )
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.url).netloc, timeout=60)
    pieces = (body[start : start + 100_000] for start in range(0, size, 100_000))
    connection.request("PUT", path, pieces, dict(request.headers), encode_chunked=True)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.close()
    assert s3.get_object(**place)["Body"].read() == body


def test_last_entry_of_a_repeated_part_number_is_used(s3, place):
    upload = begin(s3, place)
    first = s3.upload_part(**upload, PartNumber=1, Body=b"first")["ETag"]
    last = s3.upload_part(**upload, PartNumber=1, Body=b"last")["ETag"]
    parts = [{"PartNumber": 1, "ETag": etag} for etag in (first, last)]
    wrong = {"Parts": parts[::-1]}
    assert refusal(s3.complete_multipart_upload, **upload, MultipartUpload=wrong) == (
        "InvalidPart",
        400,
    )
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(**place)["Body"].read() == b"last"


@pytest.mark.parametrize("etag", ["odd", '"d41d8cd98f00b204e9800998ecf8427e"'])
def test_a_missing_upload_is_reported_before_a_missing_part(s3, place, etag):
    parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    missing = {**place, "UploadId": "no-such-upload"}
    expected = ("NoSuchUpload", 404)
    assert refusal(s3.complete_multipart_upload, **missing, MultipartUpload=parts) == expected
    aborted = begin(s3, place)
    s3.abort_multipart_upload(**aborted)
    assert refusal(s3.complete_multipart_upload, **aborted, MultipartUpload=parts) == expected
    done = begin(s3, place)
    stored = s3.upload_part(**done, PartNumber=1, Body=b"x")["ETag"]
    listed = {"Parts": [{"PartNumber": 1, "ETag": stored}]}
    s3.complete_multipart_upload(**done, MultipartUpload=listed)
    assert refusal(s3.complete_multipart_upload, **done, MultipartUpload=parts) == expected


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("deflate, gzip", "deflate, gzip"),
        ("deflate,gzip", "deflate,gzip"),
        ("aws-chunked, deflate, gzip", "deflate, gzip"),
        ("deflate, gzip, aws-chunked", "deflate, gzip"),
        ("AWS-Chunked", None),
    ],
)
def test_a_content_encoding_is_kept_as_it_was_sent(s3, place, sent, kept):
    s3.put_object(**place, Body=b"abc", ContentEncoding=sent)
    assert s3.head_object(**place).get("ContentEncoding") == kept


def test_tags_are_in_order_of_their_keys(s3, place):
    s3.put_object(**place, Body=b"abc", Tagging="b=2&a=1&B=3&%C3%A9=4")
    expected = [("B", "3"), ("a", "1"), ("b", "2"), ("é", "4")]

    def tags():
        found = s3.get_object_tagging(**place)["TagSet"]
        return [(tag["Key"], tag["Value"]) for tag in found]

    assert tags() == expected
    put = [{"Key": key, "Value": value} for key, value in expected[::-1]]
    s3.put_object_tagging(**place, Tagging={"TagSet": put})
    assert tags() == expected


def test_an_empty_continuation_token_is_the_beginning(s3, bucket):
    for name in "abc":
        s3.put_object(Bucket=bucket, Key=f"main/{name}", Body=b"x")
    for asked, keys in (
        ({"Prefix": "main/"}, ["main/a", "main/b", "main/c"]),
        ({"Prefix": "main/", "StartAfter": "main/a"}, ["main/b", "main/c"]),
    ):
        page = s3.list_objects_v2(Bucket=bucket, ContinuationToken="", **asked)
        assert page["ContinuationToken"] == ""
        assert [item["Key"] for item in page["Contents"]] == keys


def test_a_part_is_copied_of_a_range_of_the_source_alone(s3, place):
    s3.put_object(**place, Body=b"0123456789")
    upload = begin(s3, place)
    copy = {**upload, "PartNumber": 1, "CopySource": place}
    for beyond in ("bytes=0-10", "bytes=10-10", "bytes=100-200"):
        assert refusal(s3.upload_part_copy, **copy, CopySourceRange=beyond) == ("InvalidRange", 416)
    for malformed in ("bytes=-5", "bytes=5-", "bytes=5-2", "0-5", "bytes=0-1,3-4"):
        expected = ("InvalidArgument", 400)
        assert refusal(s3.upload_part_copy, **copy, CopySourceRange=malformed) == expected
    assert s3.upload_part_copy(**copy, CopySourceRange="bytes=0-9")["CopyPartResult"]["ETag"]


@pytest.mark.parametrize("source", ["/{}//a", "{}//a", "{}/", "{}/main/", "{}/main"])
def test_a_copy_source_without_a_reference_or_a_path_is_refused(s3, bucket, source):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")
    copy = {"Bucket": bucket, "Key": "main/b", "CopySource": source.format(bucket)}
    assert refusal(s3.copy_object, **copy) == ("InvalidArgument", 400)
    assert refusal(s3.head_object, Bucket=bucket, Key="main/b") == ("404", 404)


def test_an_endpoint_that_ends_in_the_base_path_of_the_api_is_said(server, s3, bucket):
    misled = boto3_client(server._replace(url=server.api))
    place = {"Bucket": bucket, "Key": "main/a"}
    for call, parameters in (
        (misled.list_buckets, {}),
        (misled.list_objects_v2, {"Bucket": bucket}),
        (misled.list_multipart_uploads, {"Bucket": bucket}),
        (misled.create_bucket, {"Bucket": bucket}),
        (misled.get_object, place),
        (misled.put_object, {**place, "Body": b"abc"}),
        (misled.delete_object, place),
        (misled.delete_objects, {"Bucket": bucket, "Delete": {"Objects": [{"Key": "main/a"}]}}),
        (misled.create_multipart_upload, place),
        (misled.copy_object, {**place, "CopySource": place}),
        (misled.get_bucket_acl, {"Bucket": bucket}),
    ):
        with pytest.raises(ClientError) as caught:
            call(**parameters)
        error = caught.value.response["Error"]
        status = caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert (status, error["Code"]) == (404, "ErrNoSuchBucketPossibleAPIEndpoint")
        assert 'mistakenly ends in "/api/v1"' in error["Message"]
    assert refusal(misled.head_bucket, Bucket=bucket) == ("404", 404)
    assert refusal(s3.list_objects_v2, Bucket="api") == ("NoSuchBucket", 404)


def test_a_repository_may_be_named_as_the_base_path_begins(api, s3):
    body = {"name": "api", "storage_namespace": "local://named-api"}
    assert api.post("/repositories", json=body).status_code == 201
    try:
        assert api.post(
            "/repositories/api/branches", json={"name": "v1", "source": "main"}
        ).is_success
        place = {"Bucket": "api", "Key": "v1/sea/main/a"}
        s3.put_object(**place, Body=b"abc")
        assert s3.get_object(**place)["Body"].read() == b"abc"
    finally:
        assert api.delete("/repositories/api").is_success
