"""Uploads in parts, by boto3 against the real server."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import threading
import zlib

import boto3.s3.transfer
import pytest
from botocore.exceptions import ClientError
from support.clients.s3_uploads import checksum

MIB = 1 << 20
LEAST = 5 * MIB
BIG = os.urandom(LEAST)


def code(error):
    response = error.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def etag_of(bodies):
    digests = b"".join(hashlib.md5(body).digest() for body in bodies)
    return f'"{hashlib.md5(digests).hexdigest()}-{len(bodies)}"'


class Parts:
    """An upload to one key."""

    def __init__(self, s3, bucket, key="main/a", **options):
        self.s3 = s3
        self.place = {"Bucket": bucket, "Key": key}
        self.answer = s3.create_multipart_upload(**self.place, **options)
        self.id = self.answer["UploadId"]

    def put(self, number, body, **options):
        answer = self.s3.upload_part(
            **self.place, UploadId=self.id, PartNumber=number, Body=body, **options
        )
        known = {name: answer[name] for name in answer if name.startswith("Checksum")}
        return {"PartNumber": number, "ETag": answer["ETag"], **known}

    def copy(self, number, source, **options):
        answer = self.s3.upload_part_copy(
            **self.place, UploadId=self.id, PartNumber=number, CopySource=source, **options
        )
        return {"PartNumber": number, "ETag": answer["CopyPartResult"]["ETag"]}

    def complete(self, parts, **options):
        return self.s3.complete_multipart_upload(
            **self.place, UploadId=self.id, MultipartUpload={"Parts": parts}, **options
        )

    def list(self, **options):
        return self.s3.list_parts(**self.place, UploadId=self.id, **options)

    def abort(self):
        self.s3.abort_multipart_upload(**self.place, UploadId=self.id)

    def read(self):
        return self.s3.get_object(**self.place)["Body"].read()


@pytest.fixture
def upload(s3, bucket):
    """Starts uploads, by default to `main/a` of a new bucket."""

    def begin(key="main/a", **options):
        return Parts(s3, bucket, key, **options)

    return begin


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("size", "chunk"),
    [(8 * MIB, 5), (20 * MIB + 7, 6), pytest.param(64 * MIB, 8, marks=pytest.mark.slow)],
)
def test_the_transfer_manager_uploads_and_downloads(s3, bucket, size, chunk):
    body = os.urandom(MIB) * (size // MIB) + os.urandom(size % MIB)
    config = boto3.s3.transfer.TransferConfig(
        multipart_threshold=LEAST, multipart_chunksize=chunk * MIB
    )
    extra = {
        "ContentType": "text/x",
        "Metadata": {"some": "thing"},
        "Tagging": "a=1",
        "CacheControl": "no-store",
    }
    s3.upload_fileobj(io.BytesIO(body), bucket, "main/a", ExtraArgs=extra, Config=config)
    head = s3.head_object(Bucket=bucket, Key="main/a")
    pieces = [body[at : at + chunk * MIB] for at in range(0, size, chunk * MIB)]
    assert head["ETag"] == etag_of(pieces)
    assert (head["ContentLength"], head["ContentType"]) == (size, "text/x")
    assert (head["Metadata"], head["CacheControl"]) == ({"some": "thing"}, "no-store")
    tags = s3.get_object_tagging(Bucket=bucket, Key="main/a")["TagSet"]
    assert tags == [{"Key": "a", "Value": "1"}]
    read = io.BytesIO()
    s3.download_fileobj(bucket, "main/a", read, Config=config)
    assert read.getvalue() == body


def test_the_transfer_manager_copies_in_parts(s3, bucket, new_bucket):
    body = os.urandom(13 * MIB)
    s3.put_object(Bucket=bucket, Key="main/a", Body=body)
    other = new_bucket()
    config = boto3.s3.transfer.TransferConfig(multipart_threshold=LEAST, multipart_chunksize=LEAST)
    s3.copy({"Bucket": bucket, "Key": "main/a"}, other, "main/b c/é", Config=config)
    pieces = [body[at : at + LEAST] for at in range(0, len(body), LEAST)]
    found = s3.get_object(Bucket=other, Key="main/b c/é")
    assert found["ETag"] == etag_of(pieces)
    assert found["Body"].read() == body


def test_upload_is_invisible_until_completed(s3, bucket, upload, api):
    parts = upload()
    listed = [parts.put(1, BIG), parts.put(2, b"end")]
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
    with pytest.raises(ClientError) as error:
        s3.get_object(**parts.place)
    assert code(error) == ("NoSuchKey", 404)
    assert api.get(f"/repositories/{bucket}/branches/main/diff").json()["results"] == []
    done = parts.complete(listed)
    assert done["ETag"] == etag_of([BIG, b"end"])
    assert (done["Bucket"], done["Key"]) == (bucket, "main/a")
    assert done["Location"].endswith(f"/{bucket}/main/a")
    assert parts.read() == BIG + b"end"
    (entry,) = s3.list_objects_v2(Bucket=bucket, Prefix="main/")["Contents"]
    assert (entry["ETag"], entry["Size"]) == (done["ETag"], LEAST + 3)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_multipart_object_can_be_committed_and_read(s3, bucket, upload, api):
    parts = upload()
    done = parts.complete([parts.put(1, b"abc")])
    assert done["ETag"] == etag_of([b"abc"])
    commit = api.post(f"/repositories/{bucket}/branches/main/commits", json={"message": "x"})
    key = f"{commit.json()['id']}/a"
    found = s3.get_object(Bucket=bucket, Key=key)
    assert (found["Body"].read(), found["ETag"]) == (b"abc", done["ETag"])
    answer = api.get(f"/repositories/{bucket}/refs/main/objects/stat", params={"path": "a"})
    assert answer.json()["checksum"] == done["ETag"].strip('"')


def test_parts_may_be_put_again_chosen_and_come_in_any_order(upload):
    parts = upload()
    last = parts.put(10_000, b"the end")
    parts.put(7, b"not wanted")
    parts.put(2, b"first try")
    other = bytes(reversed(BIG))
    listed = [parts.put(1, BIG), parts.put(2, other), last]
    sizes = [(part["PartNumber"], part["Size"]) for part in parts.list()["Parts"]]
    assert sizes == [(1, LEAST), (2, LEAST), (7, 10), (10_000, 7)]
    parts.complete(listed)
    assert parts.read() == BIG + other + b"the end"


def test_an_upload_takes_the_place_of_an_object(s3, bucket, upload):
    s3.put_object(Bucket=bucket, Key="main/a", Body=b"old")
    parts = upload()
    listed = [parts.put(1, b"new")]
    assert parts.read() == b"old"
    parts.complete(listed)
    assert parts.read() == b"new"


def test_parts_may_be_copied(s3, bucket, upload):
    s3.put_object(Bucket=bucket, Key="main/source +é", Body=BIG + b"rest")
    source = {"Bucket": bucket, "Key": "main/source +é"}
    parts = upload()
    listed = [
        parts.copy(1, source, CopySourceRange=f"bytes=0-{LEAST - 1}"),
        parts.copy(2, source),
        parts.copy(3, source, CopySourceRange=f"bytes={LEAST}-{LEAST + 3}"),
    ]
    assert [part["Size"] for part in parts.list()["Parts"]] == [LEAST, LEAST + 4, 4]
    done = parts.complete(listed)
    assert parts.read() == BIG + BIG + b"rest" + b"rest"
    assert done["ETag"] == etag_of([BIG, BIG + b"rest", b"rest"])


def test_copies_of_parts_have_conditions(s3, bucket, upload):
    etag = s3.put_object(Bucket=bucket, Key="main/source", Body=b"abc")["ETag"]
    source = {"Bucket": bucket, "Key": "main/source"}
    parts = upload()
    parts.copy(1, source, CopySourceIfMatch=etag)
    wrong = {"CopySourceIfMatch": '"0"'}, {"CopySourceIfNoneMatch": etag}
    for condition in wrong:
        with pytest.raises(ClientError) as error:
            parts.copy(2, source, **condition)
        assert code(error) == ("PreconditionFailed", 412)
    for header in ("bytes=3-", "bytes=2-1", "bytes=a-b", "0-1", "bytes=-1"):
        with pytest.raises(ClientError) as error:
            parts.copy(2, source, CopySourceRange=header)
        assert code(error) == ("InvalidArgument", 400)
    with pytest.raises(ClientError) as error:
        parts.copy(2, {"Bucket": bucket, "Key": "main/none"})
    assert code(error) == ("NoSuchKey", 404)
    assert [part["PartNumber"] for part in parts.list()["Parts"]] == [1]


def test_aborting_leaves_nothing(s3, bucket, upload):
    parts = upload()
    listed = [parts.put(1, b"abc")]
    parts.abort()
    after = [parts.abort, parts.list, lambda: parts.put(1, b"abc"), lambda: parts.complete(listed)]
    for request in after:
        with pytest.raises(ClientError) as error:
            request()
        assert code(error) == ("NoSuchUpload", 404)
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_completing_again_gives_the_same_answer(s3, bucket, upload):
    parts = upload()
    listed = [parts.put(1, BIG), parts.put(2, b"b")]
    first = parts.complete(listed, IfNoneMatch="*")
    again = parts.complete(listed, IfNoneMatch="*")
    for answer in (first, again):
        del answer["ResponseMetadata"]
    assert first == again
    for request in (lambda: parts.complete(listed[:1]), parts.abort, parts.list):
        with pytest.raises(ClientError) as error:
            request()
        assert code(error) == ("NoSuchUpload", 404)
    s3.delete_object(**parts.place)
    assert parts.complete(listed)["ETag"] == first["ETag"]
    assert s3.list_objects_v2(Bucket=bucket, Prefix="main/")["KeyCount"] == 0


@pytest.mark.slow
def test_completions_that_race_have_one_result(upload):
    for attempt in range(5):
        parts = upload(f"main/{attempt}")
        listed = [parts.put(1, BIG), parts.put(2, b"b")]
        answers, failures = [], []
        start = threading.Barrier(6)

        def complete(number, listed=listed, parts=parts, start=start):
            start.wait()
            try:
                answers.append(parts.complete(listed[: number % 2 + 1])["ETag"])  # noqa: B023
            except ClientError as error:
                failures.append(error.response["Error"]["Code"])  # noqa: B023

        threads = [threading.Thread(target=complete, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(answers)) == 1
        assert (len(answers), failures) == (3, ["NoSuchUpload"] * 3)
        body = {etag_of([BIG]): BIG, etag_of([BIG, b"b"]): BIG + b"b"}
        assert parts.read() == body[answers[0]]


def test_conditions(s3, bucket, upload):
    etag = s3.put_object(Bucket=bucket, Key="main/a", Body=b"old")["ETag"]
    parts = upload()
    listed = [parts.put(1, b"new")]
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"0"'}):
        with pytest.raises(ClientError) as error:
            parts.complete(listed, **condition)
        assert code(error) == ("PreconditionFailed", 412)
    assert parts.read() == b"old"
    done = parts.complete(listed, IfMatch=etag)
    assert parts.read() == b"new"
    third = upload()
    third.complete([third.put(1, b"newer")], IfMatch=done["ETag"])
    fresh = upload("main/fresh")
    with pytest.raises(ClientError) as error:
        fresh.complete([fresh.put(1, b"x")], IfMatch=etag)
    assert code(error) == ("NoSuchKey", 404)
    fresh.complete([fresh.put(1, b"x")], IfNoneMatch="*")


@pytest.mark.sample(2)
@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_of_parts_are_kept_and_verified(upload, algorithm):
    parts = upload(ChecksumAlgorithm=algorithm)
    name = f"Checksum{algorithm}"
    bodies = {1: BIG, 2: b"b"}
    sent = {number: {name: checksum(algorithm.lower(), bodies[number])} for number in bodies}
    listed = [parts.put(number, bodies[number], **sent[number]) for number in bodies]
    assert [part[name] for part in parts.list()["Parts"]] == [part[name] for part in listed]
    wrong = [listed[0], {**listed[1], name: listed[0][name]}]
    with pytest.raises(ClientError) as error:
        parts.complete(wrong)
    assert code(error) == ("InvalidPart", 400)
    done = parts.complete(listed)
    assert done["ChecksumType"] == ("FULL_OBJECT" if algorithm == "CRC64NVME" else "COMPOSITE")
    if algorithm in {"SHA1", "SHA256"}:
        hasher = hashlib.new(algorithm)
        for part in listed:
            hasher.update(base64.b64decode(part[name]))
        assert done[name] == base64.b64encode(hasher.digest()).decode() + "-2"


def test_the_checksum_of_the_whole_is_verified(upload):
    parts = upload(ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    listed = [parts.put(1, BIG), parts.put(2, b"the rest")]
    whole = base64.b64encode(zlib.crc32(BIG + b"the rest").to_bytes(4)).decode()
    with pytest.raises(ClientError) as error:
        parts.complete(listed, ChecksumCRC32="AAAAAA==", ChecksumType="FULL_OBJECT")
    assert code(error) == ("BadDigest", 400)
    done = parts.complete(listed, ChecksumCRC32=whole, ChecksumType="FULL_OBJECT")
    assert (done["ChecksumCRC32"], done["ChecksumType"]) == (whole, "FULL_OBJECT")


def test_a_part_with_another_md5_is_refused(upload):
    parts = upload()
    right = base64.b64encode(hashlib.md5(b"abc").digest()).decode()
    listed = [parts.put(1, b"abc", ContentMD5=right)]
    with pytest.raises(ClientError) as error:
        parts.put(1, b"coffee", ContentMD5=right)
    assert code(error) == ("BadDigest", 400)
    parts.complete(listed)
    assert parts.read() == b"abc"
