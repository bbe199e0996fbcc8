"""The AWS command line's single operations: `aws s3api`."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

CONTENT = b"123456789"
CHECKSUMS = {
    "CRC32": "y/Q5Jg==",  # the catalogue's check values
    "CRC32C": "4waSgw==",
    "SHA1": base64.b64encode(hashlib.sha1(CONTENT).digest()).decode(),
    "SHA256": base64.b64encode(hashlib.sha256(CONTENT).digest()).decode(),
}


@pytest.fixture
def api(aws, repo):
    """Returns a function that says an operation on the repository and returns the answer."""

    def say(operation, *words):
        ran = aws("s3api", operation, "--bucket", repo.id, *words, "--output", "json")
        return json.loads(ran.bytes) if ran.bytes else {}

    return say


@pytest.fixture
def refusal(aws, repo):
    """Returns a function that says an operation and returns the error it is answered by."""

    def say(operation, *words):
        ran = aws.attempt("s3api", operation, "--bucket", repo.id, *words)
        assert ran.status != 0
        return ran.errors

    return say


@pytest.mark.parametrize("algorithm", CHECKSUMS)
@pytest.mark.sample(1)
def test_checksums(request, repo, home, algorithm):
    # with Amazon's library in C, which brings CRC32C, comes only Debian's
    aws = request.getfixturevalue("old_aws" if algorithm == "CRC32C" else "aws")
    (home / "body").write_bytes(CONTENT)
    put = ("s3api", "put-object", "--bucket", repo.id, "--body", "body", "--key")
    response = json.loads(aws(*put, "main/a", "--checksum-algorithm", algorithm).bytes)
    assert response[f"Checksum{algorithm}"] == CHECKSUMS[algorithm]
    assert response["ETag"] == f'"{hashlib.md5(CONTENT).hexdigest()}"'
    if algorithm == "CRC32C":
        return  # nor does that let one say the checksum
    (home / "body").write_bytes(CONTENT + b"0")
    option = f"--checksum-{algorithm.lower()}"
    refused = aws.attempt(*put, "main/a", option, CHECKSUMS[algorithm])
    assert "(BadDigest)" in refused.errors
    assert repo.get("a") == CONTENT


def test_an_object_and_its_head(api, refusal, home):
    (home / "body").write_bytes(b"0123456789")
    it = ("--key", "main/a.txt")
    put = api(
        "put-object", *it, "--body", "body",
        "--content-type", "text/x-sea", "--metadata", "who=Mueller,ship=Trieste",
        "--cache-control", "max-age=60", "--tagging", "kind=test&level=1",
    )  # fmt: skip
    head = api("head-object", *it)
    assert (head["ContentLength"], head["ContentType"]) == (10, "text/x-sea")
    assert head["CacheControl"] == "max-age=60"
    assert head["Metadata"] == {"who": "Mueller", "ship": "Trieste"}
    assert head["ETag"] == put["ETag"]
    part = api("get-object", *it, "--range", "bytes=2-4", "part")
    assert (home / "part").read_bytes() == b"234"
    assert (part["ContentRange"], part["TagCount"]) == ("bytes 2-4/10", 2)
    assert "(304)" in refusal("head-object", *it, "--if-none-match", head["ETag"])
    assert "(InvalidRange)" in refusal("get-object", *it, "--range", "bytes=10-", "part")
    assert "(NoSuchKey)" in refusal("get-object", "--key", "main/none", "part")


@pytest.mark.slow
def test_writing_on_condition(api, refusal, repo, home):
    (home / "body").write_bytes(b"first")
    put = ("put-object", "--key", "main/a", "--body", "body")
    etag = api(*put, "--if-none-match", "*")["ETag"]
    (home / "body").write_bytes(b"second")
    assert "(PreconditionFailed)" in refusal(*put, "--if-none-match", "*")
    api(*put, "--if-match", etag)
    assert "(PreconditionFailed)" in refusal(*put, "--if-match", etag)
    assert repo.get("a") == b"second"


@pytest.mark.slow
def test_pages_of_a_listing(aws, stocked):
    ask = ("s3api", "list-objects-v2", "--bucket", stocked, "--prefix", "main/")
    whole = json.loads(aws(*ask, "--page-size", "400").bytes)["Contents"]
    assert len(whole) == 1_101
    assert whole[-1]["Key"] == "main/plain"
    page = json.loads(aws(*ask, "--max-items", "1050").bytes)
    assert len(page["Contents"]) == 1_050
    rest = json.loads(aws(*ask, "--starting-token", page["NextToken"]).bytes)
    assert page["Contents"] + rest["Contents"] == whole
    root = json.loads(aws(*ask, "--delimiter", "/").bytes)
    assert root["CommonPrefixes"] == [{"Prefix": "main/many/"}]
    assert [item["Key"] for item in root["Contents"]] == ["main/plain"]


@pytest.mark.slow
def test_copying_and_deleting(api, repo):
    repo.put("a b+c", b"content")
    source = f"{repo.id}/main/a b+c"  # encoded by the client
    copied = api("copy-object", "--key", "main/copy", "--copy-source", source)
    assert copied["CopyObjectResult"]["ETag"] == '"9a0364b9e99bb480dd25e1f0284c8555"'
    assert repo.get("copy") == b"content"
    replaced = ("--metadata", "k=v", "--metadata-directive", "REPLACE")
    api("copy-object", "--key", "main/copy", "--copy-source", f"{repo.id}/main/copy", *replaced)
    assert api("head-object", "--key", "main/copy")["Metadata"] == {"k": "v"}
    wanted = [{"Key": "main/a b+c"}, {"Key": "main/copy"}, {"Key": "main/never was"}]
    response = api("delete-objects", "--delete", json.dumps({"Objects": wanted}))
    assert {item["Key"] for item in response["Deleted"]} == {item["Key"] for item in wanted}
    assert "Errors" not in response
    assert repo.paths() == []


@pytest.mark.slow
def test_tags(api, repo):
    repo.put("a")
    it = ("--key", "main/a")
    tags = [{"Key": "depth", "Value": "10 935 m"}, {"Key": "é", "Value": ""}]
    api("put-object-tagging", *it, "--tagging", json.dumps({"TagSet": tags}))
    assert api("get-object-tagging", *it)["TagSet"] == tags
    repo.commit()
    assert api("get-object-tagging", "--key", "main~0/a")["TagSet"] == tags
    api("delete-object-tagging", *it)
    assert api("get-object-tagging", *it)["TagSet"] == []


@pytest.mark.slow
def test_what_a_bucket_is(api, refusal, aws, repo):
    api("head-bucket")
    assert api("get-bucket-location") == {"LocationConstraint": None}
    assert api("get-bucket-versioning") == {}
    assert api("get-bucket-acl")["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert "(NoSuchBucketPolicy)" in refusal("get-bucket-policy")
    assert "(NotImplemented)" in refusal(
        "put-bucket-versioning", "--versioning-configuration", "Status=Enabled"
    )
    named = json.loads(aws("s3api", "list-buckets", "--prefix", repo.id).bytes)
    assert [bucket["Name"] for bucket in named["Buckets"]] == [repo.id]


@pytest.mark.slow
def test_an_upload_by_hand(api, refusal, repo, home, large):
    it = ("--key", "main/by hand")
    begun = api("create-multipart-upload", *it, "--metadata", "k=v")
    upload = (*it, "--upload-id", begun["UploadId"])
    for number, start in enumerate(range(0, len(large), 5 << 20), 1):
        (home / "part").write_bytes(large[start : start + (5 << 20)])
        api("upload-part", *upload, "--part-number", str(number), "--body", "part")
    assert [item["UploadId"] for item in api("list-multipart-uploads")["Uploads"]] == [upload[-1]]
    parts = api("list-parts", *upload)["Parts"]
    assert [part["Size"] for part in parts] == [5 << 20, 5 << 20, 2 << 20]
    assert repo.paths() == []
    wrong = {"Parts": [{"PartNumber": 4, "ETag": parts[0]["ETag"]}]}
    assert "(InvalidPart)" in refusal(
        "complete-multipart-upload", *upload, "--multipart-upload", json.dumps(wrong)
    )
    right = {"Parts": [{"PartNumber": part["PartNumber"], "ETag": part["ETag"]} for part in parts]}
    api("complete-multipart-upload", *upload, "--multipart-upload", json.dumps(right))
    assert repo.get("by hand") == large
    assert api("head-object", *it)["Metadata"] == {"k": "v"}
    assert "Uploads" not in api("list-multipart-uploads")


@pytest.mark.slow
def test_giving_an_upload_up(api, refusal, repo):
    upload = ("--key", "main/a")
    upload += ("--upload-id", api("create-multipart-upload", *upload)["UploadId"])
    api("abort-multipart-upload", *upload)
    assert "(NoSuchUpload)" in refusal("list-parts", *upload)
    assert repo.paths() == []
