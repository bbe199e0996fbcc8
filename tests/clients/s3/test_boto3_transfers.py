"""boto3's transfer manager, which cuts what is large into parts, and parts by hand."""

from __future__ import annotations

import hashlib
import io

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

MIB = 1024 * 1024
LARGE = bytes(range(256)) * 4096 * 23 + b"end"
SMALL_PARTS = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)


def etag_of_parts(content, size):
    digests = [hashlib.md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
    return f'"{hashlib.md5(b"".join(digests)).hexdigest()}-{len(digests)}"'


def code_of(caught):
    return caught.value.response["Error"]["Code"]


@pytest.fixture
def large_file(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    return path


@pytest.mark.parametrize("signature", ["s3v4", "s3"])
def test_files_go_there_and_back_with_the_defaults(make_s3, repo, large_file, signature):
    s3 = make_s3(signature_version=signature)
    moved = []
    s3.upload_file(str(large_file), repo.id, "main/large", Callback=moved.append)
    assert sum(moved) == len(LARGE)
    head = s3.head_object(Bucket=repo.id, Key="main/large")
    assert head["ETag"] == etag_of_parts(LARGE, 8 * MIB)
    back = large_file.with_name("back")
    s3.download_file(repo.id, "main/large", str(back))
    assert back.read_bytes() == LARGE
    assert repo.sdk.objects_api.stat_object(repo.id, "main", "large").size_bytes == len(LARGE)


def test_streams_with_metadata(s3, repo):
    extra = {"ContentType": "text/x", "Metadata": {"depth": "10935"}, "ContentLanguage": "en"}
    s3.upload_fileobj(io.BytesIO(LARGE), repo.id, "main/a b", ExtraArgs=extra, Config=SMALL_PARTS)
    got = io.BytesIO()
    s3.download_fileobj(repo.id, "main/a b", got, Config=SMALL_PARTS)
    assert got.getvalue() == LARGE
    head = s3.head_object(Bucket=repo.id, Key="main/a b")
    assert head["ContentType"] == "text/x"
    assert head["Metadata"] == {"depth": "10935"}
    assert head["ContentLanguage"] == "en"


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_of_parts(s3, repo, algorithm):
    s3.upload_fileobj(
        io.BytesIO(LARGE),
        repo.id,
        "main/a",
        ExtraArgs={"ChecksumAlgorithm": algorithm},
        Config=SMALL_PARTS,
    )
    assert s3.get_object(Bucket=repo.id, Key="main/a")["Body"].read() == LARGE


def test_copies_go_in_parts_between_branches(s3, repo):
    repo.branch("dev")
    s3.upload_fileobj(io.BytesIO(LARGE), repo.id, "main/a b", Config=SMALL_PARTS)
    s3.copy({"Bucket": repo.id, "Key": "main/a b"}, repo.id, "dev/é", Config=SMALL_PARTS)
    assert s3.get_object(Bucket=repo.id, Key="dev/é")["Body"].read() == LARGE
    assert repo.paths() == ["a b"]


def test_an_upload_that_fails_leaves_nothing(s3, repo):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            piece = super().read(size)
            if self.tell() > 12 * MIB:
                raise OSError("the disk is gone")
            return piece

    with pytest.raises(OSError, match="the disk is gone"):
        s3.upload_fileobj(Broken(LARGE), repo.id, "main/a", Config=SMALL_PARTS)
    assert repo.paths() == []
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=repo.id)


def test_parts_by_hand(s3, repo):
    key = {"Bucket": repo.id, "Key": "main/a"}
    upload = s3.create_multipart_upload(**key, Metadata={"depth": "1"})["UploadId"]
    bodies = {1: b"1" * 5 * MIB, 3: b"3" * 5 * MIB, 7: b"end"}
    tags = {
        number: s3.upload_part(**key, UploadId=upload, PartNumber=number, Body=body)["ETag"]
        for number, body in reversed(bodies.items())
    }
    pages = s3.get_paginator("list_parts").paginate(
        **key, UploadId=upload, PaginationConfig={"PageSize": 2}
    )
    listed = [part for page in pages for part in page["Parts"]]
    assert [(part["PartNumber"], part["Size"], part["ETag"]) for part in listed] == [
        (number, len(body), tags[number]) for number, body in bodies.items()
    ]
    uploads = s3.get_paginator("list_multipart_uploads").paginate(Bucket=repo.id)
    assert [item["Key"] for page in uploads for item in page["Uploads"]] == ["main/a"]
    assert repo.paths() == []
    parts = [{"PartNumber": number, "ETag": tags[number]} for number in bodies]
    done = s3.complete_multipart_upload(
        **key, UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
    )
    got = s3.get_object(**key)
    assert (got["ETag"], got["Metadata"]) == (done["ETag"], {"depth": "1"})
    assert got["Body"].read() == b"".join(bodies.values())


def test_a_condition_holds_when_an_upload_is_completed(s3, repo):
    key = {"Bucket": repo.id, "Key": "main/a"}
    upload = s3.create_multipart_upload(**key)["UploadId"]
    tag = s3.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"late")["ETag"]
    s3.put_object(**key, Body=b"first")
    parts = {"Parts": [{"PartNumber": 1, "ETag": tag}]}
    with pytest.raises(ClientError) as caught:
        s3.complete_multipart_upload(**key, UploadId=upload, MultipartUpload=parts, IfNoneMatch="*")
    assert code_of(caught) == "PreconditionFailed"
    assert repo.get("a") == b"first"
    s3.abort_multipart_upload(**key, UploadId=upload)
    with pytest.raises(ClientError) as caught:
        s3.upload_part(**key, UploadId=upload, PartNumber=1, Body=b"")
    assert code_of(caught) == "NoSuchUpload"
