"""Objects through boto3: written, read, copied, tagged, deleted."""

from __future__ import annotations

import hashlib
import io
import urllib.parse
from datetime import timedelta

import httpx2
import pytest
from botocore.exceptions import ClientError

from anabranch.s3.payloads.checksums import ALGORITHMS, encode

ODD_PATHS = [
    "plain.txt",
    "a b+c%20d.txt",
    "//double//slash",
    "trailing/",
    "emoji-😀/é/漢",
    "dots/./../x",
    "quotes'\"&<>.xml",
    "x" * 1024,
    "semi;colon:at@dollar$,=!*()[]{}|\\^`~",
    "tab\tand\nline",
]


def code(error) -> tuple[str, int]:
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.sample(3)
def test_odd_keys_survive(s3, bucket, path):
    key = f"main/{path}"
    body = path.encode()
    put = s3.put_object(Bucket=bucket, Key=key, Body=body)
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == body
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert [(item["Key"], item["Size"]) for item in listed] == [(key, len(body))]
    s3.copy_object(Bucket=bucket, Key="main/copy", CopySource={"Bucket": bucket, "Key": key})
    assert s3.get_object(Bucket=bucket, Key="main/copy")["Body"].read() == body
    deleted = s3.delete_objects(
        Bucket=bucket, Delete={"Objects": [{"Key": key}, {"Key": "main/copy"}]}
    )
    assert {item["Key"] for item in deleted["Deleted"]} == {key, "main/copy"}
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0


def test_large_bodies_go_in_pieces_both_ways(s3, bucket):
    body = hashlib.shake_128(b"large").digest(5 * 1024 * 1024 + 3)
    put = s3.put_object(Bucket=bucket, Key="main/large", Body=io.BytesIO(body))
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    assert s3.get_object(Bucket=bucket, Key="main/large")["Body"].read() == body
    part = s3.get_object(Bucket=bucket, Key="main/large", Range="bytes=1000000-4000000")
    assert part["Body"].read() == body[1000000:4000001]
    assert part["ContentRange"] == f"bytes 1000000-4000000/{len(body)}"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_verified_and_returned(s3, bucket, algorithm):
    def of(body):
        hasher = ALGORITHMS[algorithm.lower()].new()
        hasher.update(body)
        return {f"Checksum{algorithm}": encode(hasher.digest())}

    put = s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc", **of(b"abc"))
    assert {f"Checksum{algorithm}": put[f"Checksum{algorithm}"]} == of(b"abc")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"other", **of(b"abc"))
    assert code(error) == ("BadDigest", 400)
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"abc"


def test_content_md5_is_verified(s3, bucket):
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"x", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")
    assert code(error) == ("BadDigest", 400)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"", ContentMD5="1B2M2Y8AsgTpgAmY7PhCfg==")


def test_metadata_and_headers_of_the_content(s3, bucket, api):
    given = {
        "CacheControl": "max-age=7",
        "ContentDisposition": 'attachment; filename="a"',
        "ContentEncoding": "gzip",
        "ContentLanguage": "de",
        "ContentType": "text/x-abc; charset=utf-8",
    }
    s3.put_object(
        Bucket=bucket,
        Key="main/a",
        Body=b"abc",
        Metadata={"Kind": "green", "word": "=?UTF-8?Q?gr=C3=BCn?="},
        **given,
    )
    head = s3.head_object(Bucket=bucket, Key="main/a")
    assert {name: head[name] for name in given} == given
    assert head["Metadata"]["kind"] == "green"
    assert head["Metadata"]["word"] == "=?UTF-8?Q?gr=C3=BCn?="
    stat = api.get(f"/repositories/{bucket}/refs/main/objects/stat", params={"path": "a"}).json()
    assert stat["metadata"]["X-Amz-Meta-kind"] == "green"
    assert stat["metadata"]["X-Amz-Meta-word"] == "grün"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/b", Body=b"", Metadata={"k": "v" * 2048})
    assert code(error) == ("MetadataTooLarge", 400)


def test_ranges_parts_and_overrides(s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"0123456789")
    s3.put_object(Bucket=bucket, Key="main/empty", Body=b"")

    def read(**asked):
        got = s3.get_object(Bucket=bucket, Key="main/a", **asked)
        return got["ResponseMetadata"]["HTTPStatusCode"], got["Body"].read()

    assert read(Range="bytes=2-3") == (206, b"23")
    assert read(Range="bytes=7-") == (206, b"789")
    assert read(Range="bytes=-2") == (206, b"89")
    assert read(Range="bytes=8-100") == (206, b"89")
    assert read(Range="bytes=5-2") == (200, b"0123456789")
    assert read(Range="lines=1-2") == (200, b"0123456789")
    assert read(Range="bytes=0-1,3-4") == (200, b"0123456789")
    assert read(PartNumber=1) == (206, b"0123456789")
    head = s3.head_object(Bucket=bucket, Key="main/a", Range="bytes=2-4")
    assert (head["ContentLength"], head["ContentRange"]) == (3, "bytes 2-4/10")
    for key, wanted in (
        ("main/a", "bytes=10-"),
        ("main/a", "bytes=-0"),
        ("main/empty", "bytes=0-"),
    ):
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=bucket, Key=key, Range=wanted)
        assert code(error) == ("InvalidRange", 416)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=bucket, Key="main/a", PartNumber=2)
    assert code(error) == ("InvalidPart", 400)
    with pytest.raises(ClientError) as error:
        s3.head_object(Bucket=bucket, Key="main/a", PartNumber=2)
    assert code(error) == ("400", 400)
    got = s3.get_object(
        Bucket=bucket,
        Key="main/a",
        ResponseContentType="text/abc",
        ResponseContentDisposition="inline",
        ResponseCacheControl="no-cache",
    )
    assert (got["ContentType"], got["ContentDisposition"]) == ("text/abc", "inline")
    assert got["CacheControl"] == "no-cache"


def test_conditions_of_reads(s3, bucket):
    etag = s3.put_object(Bucket=bucket, Key="main/a", Body=b"abc")["ETag"]
    changed = s3.head_object(Bucket=bucket, Key="main/a")["LastModified"]
    day = timedelta(days=1)
    holding = [
        {"IfMatch": etag},
        {"IfMatch": "*"},
        {"IfNoneMatch": '"other"'},
        {"IfModifiedSince": changed - day},
        {"IfUnmodifiedSince": changed},
        {"IfMatch": etag, "IfUnmodifiedSince": changed - day},
        {"IfNoneMatch": '"other"', "IfModifiedSince": changed},
    ]
    for asked in holding:
        assert s3.get_object(Bucket=bucket, Key="main/a", **asked)["Body"].read() == b"abc"
        assert s3.head_object(Bucket=bucket, Key="main/a", **asked)["ContentLength"] == 3
    failing = [
        ({"IfMatch": '"other"'}, "412"),
        ({"IfUnmodifiedSince": changed - day}, "412"),
        ({"IfNoneMatch": etag}, "304"),
        ({"IfModifiedSince": changed}, "304"),
    ]
    for asked, status in failing:
        for operation in (s3.get_object, s3.head_object):
            with pytest.raises(ClientError) as error:
                operation(Bucket=bucket, Key="main/a", **asked)
            assert code(error)[1] == int(status)


def test_conditions_of_writes(s3, bucket):
    first = s3.put_object(Bucket=bucket, Key="main/a", Body=b"1", IfNoneMatch="*")["ETag"]
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"2", IfNoneMatch="*")
    assert code(error) == ("PreconditionFailed", 412)
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/a", Body=b"2", IfMatch='"other"')
    assert code(error) == ("PreconditionFailed", 412)
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/none", Body=b"2", IfMatch=first)
    assert code(error) == ("NoSuchKey", 404)
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"1"
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"2", IfMatch=first)
    assert s3.get_object(Bucket=bucket, Key="main/a")["Body"].read() == b"2"


def test_copies(s3, bucket, new_bucket):
    other = new_bucket()
    source = {"Bucket": bucket, "Key": "main/a"}
    etag = s3.put_object(
        **source, Body=b"abc", Metadata={"k": "v"}, ContentType="text/abc", Tagging="t=1"
    )["ETag"]
    copied = s3.copy_object(Bucket=other, Key="main/b", CopySource=source)
    assert copied["CopyObjectResult"]["ETag"] == etag
    got = s3.get_object(Bucket=other, Key="main/b")
    assert (got["Body"].read(), got["Metadata"], got["ContentType"]) == (
        b"abc",
        {"k": "v"},
        "text/abc",
    )
    s3.copy_object(
        Bucket=bucket,
        Key="main/a",
        CopySource=source,
        MetadataDirective="REPLACE",
        Metadata={"new": "1"},
        ContentType="text/new",
    )
    head = s3.head_object(Bucket=bucket, Key="main/a")
    assert (head["Metadata"], head["ContentType"]) == ({"new": "1"}, "text/new")
    assert s3.get_object_tagging(**source)["TagSet"] == [{"Key": "t", "Value": "1"}]
    refused = [
        ({"CopySource": source, "Key": "main/a"}, "InvalidRequest"),
        ({"CopySource": {"Bucket": bucket, "Key": "main/none"}}, "NoSuchKey"),
        ({"CopySource": {"Bucket": "no-such-bucket", "Key": "main/a"}}, "NoSuchBucket"),
        ({"CopySource": source, "CopySourceIfMatch": '"other"'}, "PreconditionFailed"),
        ({"CopySource": source, "CopySourceIfNoneMatch": etag}, "PreconditionFailed"),
        ({"CopySource": "nothing"}, "InvalidArgument"),
    ]
    for asked, expected in refused:
        with pytest.raises(ClientError) as error:
            s3.copy_object(**({"Bucket": bucket, "Key": "main/c"} | asked))
        assert code(error)[0] == expected


def test_tags_are_metadata(s3, bucket, api):
    place = {"Bucket": bucket, "Key": "main/a"}
    s3.put_object(**place, Body=b"abc", Metadata={"k": "v"})
    assert s3.get_object_tagging(**place)["TagSet"] == []
    tags = [{"Key": "a&b", "Value": "ü =+"}, {"Key": "empty", "Value": ""}]
    s3.put_object_tagging(**place, Tagging={"TagSet": tags})
    assert s3.get_object_tagging(**place)["TagSet"] == tags
    assert s3.get_object(**place)["TagCount"] == s3.head_object(**place)["TagCount"] == len(tags)
    assert api.post(
        f"/repositories/{bucket}/branches/main/commits", json={"message": "tags"}
    ).is_success
    assert s3.get_object_tagging(Bucket=bucket, Key="main@/a")["TagSet"] == tags
    s3.delete_object_tagging(**place)
    assert s3.get_object_tagging(**place)["TagSet"] == []
    assert s3.head_object(**place)["Metadata"] == {"k": "v"}
    with pytest.raises(ClientError) as error:
        s3.put_object_tagging(
            **place, Tagging={"TagSet": [{"Key": "same", "Value": str(n)} for n in range(2)]}
        )
    assert code(error) == ("InvalidTag", 400)


def test_reads_take_any_reference_and_writes_only_branches(s3, bucket, api):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"old")
    commits = f"/repositories/{bucket}/branches/main/commits"
    commit = api.post(commits, json={"message": "one"}).json()["id"]
    tagged = {"id": "v1.0", "ref": commit}
    assert api.post(f"/repositories/{bucket}/tags", json=tagged).is_success
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"new")
    for ref in ("v1.0", commit, commit[:12], "main@"):
        assert s3.get_object(Bucket=bucket, Key=f"{ref}/a")["Body"].read() == b"old"
        listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{ref}/")["Contents"]
        assert [item["Key"] for item in listed] == [f"{ref}/a"]
    for ref in ("v1.0", commit, "nothing"):
        with pytest.raises(ClientError) as error:
            s3.put_object(Bucket=bucket, Key=f"{ref}/b", Body=b"x")
        assert code(error) == ("NoSuchBucket", 404)
    with pytest.raises(ClientError) as error:
        s3.delete_object(Bucket=bucket, Key="v1.0/a")
    assert code(error) == ("MethodNotAllowed", 405)
    s3.delete_object(Bucket=bucket, Key="nothing/a")
    s3.delete_object(Bucket=bucket, Key="main/nothing")


def test_encryption_with_keys_of_clients_is_refused(s3, bucket):
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": "k" * 32}
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"a", ServerSideEncryption="AES256")
    for call in (
        lambda: s3.put_object(Bucket=bucket, Key="main/b", Body=b"b", **key),
        lambda: s3.get_object(Bucket=bucket, Key="main/a", **key),
        lambda: s3.create_multipart_upload(Bucket=bucket, Key="main/b", **key),
        lambda: s3.copy_object(
            Bucket=bucket,
            Key="main/b",
            CopySource=f"{bucket}/main/a",
            **{f"CopySource{name}": value for name, value in key.items()},
        ),
    ):
        with pytest.raises(ClientError) as error:
            call()
        assert code(error) == ("NotImplemented", 501)
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert [found["Key"] for found in listed] == ["main/a"]


def test_missing_object_returns_not_found(s3, bucket):
    for key in ("main/none", "none/a", "main", "none/", "a b/c"):
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=bucket, Key=key)
        assert code(error) == ("NoSuchKey", 404)
        with pytest.raises(ClientError) as error:
            s3.head_object(Bucket=bucket, Key=key)
        assert code(error)[1] == 404
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main/" + "x" * 1025, Body=b"")
    assert code(error) == ("KeyTooLongError", 400)
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=bucket, Key="main", Body=b"")
    assert code(error) == ("InvalidArgument", 400)


def test_deleting_many(s3, bucket):
    keys = [f"main/{number:04}" for number in range(3)]
    for key in keys:
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    wanted = [*keys[:2], "main/none", "nothing/x", "main/" + "y" * 1025]
    answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in wanted]})
    assert [item["Key"] for item in answer["Deleted"]] == wanted[:4]
    assert [(item["Key"], item["Code"]) for item in answer["Errors"]] == [
        (wanted[4], "KeyTooLongError")
    ]
    quiet = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": keys[2]}], "Quiet": True})
    assert "Deleted" not in quiet
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
    with pytest.raises(ClientError) as error:
        s3.delete_objects(
            Bucket=bucket, Delete={"Objects": [{"Key": f"main/{n}"} for n in range(1001)]}
        )
    assert code(error) == ("MalformedXML", 400)


def test_presigned_urls(s3, bucket):
    place = {"Bucket": bucket, "Key": "main/ü b.txt"}
    url = s3.generate_presigned_url("put_object", Params=place, ExpiresIn=60)
    assert httpx2.put(url, content=b"abc").status_code == 200
    url = s3.generate_presigned_url(
        "get_object", Params=place | {"ResponseContentType": "text/abc"}, ExpiresIn=60
    )
    answer = httpx2.get(url)
    assert (answer.status_code, answer.content) == (200, b"abc")
    assert answer.headers["content-type"] == "text/abc"
    assert "sandbox" in answer.headers["content-security-policy"]
    other = url.replace(urllib.parse.quote("ü b.txt"), "other.txt")
    assert httpx2.get(other).status_code == 403


def test_local_store_never_redirects(s3, bucket):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"here")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "main/a"})
    answer = httpx2.get(url, headers={"User-Agent": "x s3RedirectionSupport"}, timeout=60)
    assert (answer.status_code, answer.content) == (200, b"here")
