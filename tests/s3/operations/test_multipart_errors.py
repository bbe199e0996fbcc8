"""Uploads in parts that are asked for wrongly: S3's error each time, and nothing changed."""

from __future__ import annotations

import hashlib
import re
import time

import httpx2
import pytest
from botocore.exceptions import ClientError

from anabranch.model.secret import Secret
from anabranch.signing.sign import SigningCredentials, sign_request

MIB = 1 << 20
BIG = bytes(5 * MIB)
UNKNOWN = "0" * 32 + "-" + "0" * 16


def code(error):
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def refusal(request):
    with pytest.raises(ClientError) as error:
        request()
    return code(error)


@pytest.fixture
def place(bucket):
    return {"Bucket": bucket, "Key": "main/a"}


@pytest.fixture
def begun(s3, place):
    """An upload with two parts: the arguments that name it, and what completes it."""
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, body in ((1, BIG), (2, b"end"))
    ]
    yield upload, parts
    # whatever was refused, it is as it was
    assert [part["Size"] for part in s3.list_parts(**upload)["Parts"]] == [len(BIG), 3]
    assert s3.list_objects_v2(Bucket=place["Bucket"], Prefix="main/")["KeyCount"] == 0
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(**place)["Body"].read() == BIG + b"end"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("none/a", ("NoSuchBucket", 404)),
        ("v1/a", ("NoSuchBucket", 404)),
        ("main~0/a", ("NoSuchBucket", 404)),
        ("main", ("InvalidArgument", 400)),
        ("main/", ("InvalidArgument", 400)),
        ("main/" + "x" * 1025, ("KeyTooLongError", 400)),
    ],
)
def test_beginning_where_nothing_can_be_written(s3, api, bucket, key, expected):
    api.post(f"/repositories/{bucket}/tags", json={"id": "v1", "ref": "main"})
    assert refusal(lambda: s3.create_multipart_upload(Bucket=bucket, Key=key)) == expected
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_beginning_with_wrong_headers(s3, place):
    assert refusal(lambda: s3.create_multipart_upload(**place, Metadata={"a": "x" * 3000})) == (
        "MetadataTooLarge",
        400,
    )
    assert refusal(lambda: s3.create_multipart_upload(**place, Tagging="a=1&a=2")) == (
        "InvalidTag",
        400,
    )
    wrong = {"ChecksumAlgorithm": "SHA256", "ChecksumType": "FULL_OBJECT"}
    assert refusal(lambda: s3.create_multipart_upload(**place, **wrong)) == ("InvalidRequest", 400)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=place["Bucket"])


@pytest.mark.parametrize("upload_id", [UNKNOWN, "x", "../..", "%00", "é"])
def test_uploads_that_are_not_known(s3, place, upload_id):
    upload = {**place, "UploadId": upload_id}
    parts = {"Parts": [{"PartNumber": 1, "ETag": '"d41d8cd98f00b204e9800998ecf8427e"'}]}
    s3.put_object(**place, Body=b"abc")
    for request in (
        lambda: s3.upload_part(**upload, PartNumber=1, Body=b"x"),
        lambda: s3.upload_part_copy(**upload, PartNumber=1, CopySource=place),
        lambda: s3.list_parts(**upload),
        lambda: s3.abort_multipart_upload(**upload),
        lambda: s3.complete_multipart_upload(**upload, MultipartUpload=parts),
    ):
        assert refusal(request) == ("NoSuchUpload", 404)
    assert s3.get_object(**place)["Body"].read() == b"abc"


def test_uploads_of_other_keys(s3, begun, new_bucket):
    upload, parts = begun
    for elsewhere in ({"Key": "main/b"}, {"Key": "dev/a"}, {"Bucket": new_bucket()}):
        wrong = upload | elsewhere
        for request in (
            lambda wrong=wrong: s3.upload_part(**wrong, PartNumber=1, Body=b"x"),
            lambda wrong=wrong: s3.list_parts(**wrong),
            lambda wrong=wrong: s3.abort_multipart_upload(**wrong),
        ):
            assert refusal(request) == ("NoSuchUpload", 404)
        assert refusal(
            lambda wrong=wrong: s3.complete_multipart_upload(
                **wrong, MultipartUpload={"Parts": parts}
            )
        ) in {("NoSuchUpload", 404), ("NoSuchBucket", 404)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [0, 10_001, -1, 99_999])
def test_numbers_that_no_part_can_have(s3, begun, number):
    upload, parts = begun
    assert refusal(lambda: s3.upload_part(**upload, PartNumber=number, Body=b"x")) == (
        "InvalidArgument",
        400,
    )
    wrong = {"Parts": sorted([*parts, {**parts[1], "PartNumber": number}], key=_number)}
    assert refusal(lambda: s3.complete_multipart_upload(**upload, MultipartUpload=wrong)) in {
        ("InvalidArgument", 400),
        ("MalformedXML", 400),
    }


def _number(part):
    return part["PartNumber"]


def test_the_last_number_is_ten_thousand(s3, place):
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}
    etag = s3.upload_part(**upload, PartNumber=10_000, Body=b"x")["ETag"]
    s3.complete_multipart_upload(
        **upload, MultipartUpload={"Parts": [{"PartNumber": 10_000, "ETag": etag}]}
    )
    assert s3.get_object(**place)["Body"].read() == b"x"


def test_lists_of_parts_that_are_wrong(s3, begun):
    upload, (first, second) = begun
    etag = '"d41d8cd98f00b204e9800998ecf8427e"'
    for parts, expected in (
        ([second, first], ("InvalidPartOrder", 400)),
        ([first, second, {**second, "PartNumber": 3}], ("InvalidPart", 400)),
        ([first, {**second, "ETag": etag}], ("InvalidPart", 400)),
        ([first, {**second, "ETag": "odd"}], ("InvalidPart", 400)),
        ([first, {**second, "ETag": first["ETag"]}], ("InvalidPart", 400)),
        ([first, {**second, "ChecksumCRC32": "AAAAAA=="}], ("InvalidPart", 400)),
        ([{**first, "ChecksumSHA256": "A" * 43 + "="}, second], ("InvalidPart", 400)),
    ):
        listed = {"Parts": parts}
        assert (
            refusal(
                lambda listed=listed: s3.complete_multipart_upload(**upload, MultipartUpload=listed)
            )
            == expected
        )


def test_parts_that_are_too_small(s3, place):
    upload = {**place, "UploadId": s3.create_multipart_upload(**place)["UploadId"]}

    def complete(*bodies):
        parts = [
            {
                "PartNumber": number,
                "ETag": s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"],
            }
            for number, body in enumerate(bodies, 1)
        ]
        s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})

    assert refusal(lambda: complete(BIG, b"small", b"end")) == ("EntityTooSmall", 400)
    assert refusal(lambda: complete(BIG, BIG[1:], b"")) == ("EntityTooSmall", 400)
    complete(BIG, BIG, b"")
    assert s3.head_object(**place)["ContentLength"] == 2 * len(BIG)


def test_wrong_object_size_or_checksum_is_rejected(s3, begun):
    upload, parts = begun
    listed = {"Parts": parts}
    for said, expected in (
        ({"MpuObjectSize": len(BIG) + 4}, ("InvalidRequest", 400)),
        ({"MpuObjectSize": 0}, ("InvalidRequest", 400)),
        ({"ChecksumSHA256": "A" * 43 + "="}, ("InvalidRequest", 400)),
        ({"ChecksumCRC32": "AAAAAA==", "ChecksumType": "FULL_OBJECT"}, ("BadDigest", 400)),
        ({"ChecksumCRC32": "AAAAAA==-2"}, ("BadDigest", 400)),
    ):
        assert (
            refusal(
                lambda said=said: s3.complete_multipart_upload(
                    **upload, MultipartUpload=listed, **said
                )
            )
            == expected
        )


PART = "<Part><PartNumber>%s</PartNumber><ETag>x</ETag></Part>"
BOMB = '<!DOCTYPE x [<!ENTITY a "1">]>'


def listed(inner):
    return f"<CompleteMultipartUpload>{inner}</CompleteMultipartUpload>"


@pytest.fixture
def send(server):
    """Sends a signed request and returns the code and the status of the error."""

    def send(method, path, body):
        signer = SigningCredentials(
            server.access_key_id, Secret(server.secret_access_key), "us-east-1"
        )
        digest = hashlib.sha256(body).hexdigest()
        url = server.url + path
        signed = sign_request(signer, method, url, {}, time=time.time(), payload=digest)
        answer = httpx2.request(method, url, headers=signed.headers, content=body)
        return re.findall("<Code>(.+?)</Code>", answer.text)[0], answer.status_code

    return send


@pytest.mark.parametrize(
    "body",
    [
        "",
        "abc",
        "<CompleteMultipartUpload>",
        "<Delete></Delete>",
        listed(""),
        listed("<Part/>"),
        listed("<Part><ETag>x</ETag></Part>"),
        listed("<Part><PartNumber>1</PartNumber></Part>"),
        listed(PART % ""),
        listed(PART % "one"),
        listed(PART % "1e0"),
        listed("".join(PART % number for number in range(1, 10_001)) + PART % 10_000),
        BOMB + listed(PART % "&a;"),
    ],
    ids=range(13),
)
@pytest.mark.sample(1)
def test_bodies_that_are_no_lists(send, begun, body):
    upload, _ = begun
    path = f"/{upload['Bucket']}/main/a?uploadId={upload['UploadId']}"
    assert send("POST", path, body.encode()) == ("MalformedXML", 400)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("partNumber=1", ("InvalidArgument", 400)),
        ("uploadId={id}", ("InvalidArgument", 400)),
        ("uploadId={id}&partNumber=", ("InvalidArgument", 400)),
        ("uploadId={id}&partNumber=one", ("InvalidArgument", 400)),
        ("uploadId={id}&partNumber=%31%00", ("InvalidArgument", 400)),
        ("uploadId=&partNumber=1", ("NoSuchUpload", 404)),
        ("uploadId&partNumber=1", ("NoSuchUpload", 404)),
    ],
)
@pytest.mark.sample(1)
def test_parts_without_a_number_or_an_upload(send, begun, query, expected):
    upload, _ = begun
    path = f"/{upload['Bucket']}/main/a?{query.format(id=upload['UploadId'])}"
    assert send("PUT", path, b"part") == expected


def test_pages_of_odd_sizes(s3, begun):
    upload, _ = begun
    bucket = {"Bucket": upload["Bucket"]}
    for request in (
        lambda: s3.list_parts(**upload, MaxParts=-1),
        lambda: s3.list_parts(**upload, PartNumberMarker=-1),
        lambda: s3.list_multipart_uploads(**bucket, MaxUploads=-1),
        lambda: s3.list_multipart_uploads(**bucket, EncodingType="other"),
    ):
        assert refusal(request) == ("InvalidArgument", 400)
    assert refusal(lambda: s3.list_multipart_uploads(Bucket="no-such-bucket")) == (
        "NoSuchBucket",
        404,
    )


def test_a_protected_branch_takes_no_upload(s3, api, begun, bucket):
    upload, parts = begun
    rules = f"/repositories/{bucket}/settings/branch_protection"
    assert api.put(rules, json=[{"pattern": "main"}]).status_code == 204
    assert refusal(lambda: s3.create_multipart_upload(Bucket=bucket, Key="main/b")) == (
        "AccessDenied",
        403,
    )
    listed = {"Parts": parts}
    assert refusal(lambda: s3.complete_multipart_upload(**upload, MultipartUpload=listed)) == (
        "AccessDenied",
        403,
    )
    assert api.put(rules, json=[]).status_code == 204
