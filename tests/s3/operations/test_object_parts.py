"""Objects that were uploaded in parts: their checksums, their parts by number and in pages."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from support.clients.s3_uploads import checksum

from .conftest import MODE, boto3_client, place, sent_checksum
from .test_object_checksums import ALGORITHMS, ALL, BIG, LEAST, checksums, code, crc32


@pytest.mark.sample(2)
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
    s3.put_object(**place(bucket), Body=b"abc")
    got = s3.get_object(**place(bucket), PartNumber=1)
    assert "PartsCount" not in got
    assert checksums(got) == crc32(b"abc")
    assert got["Body"].read() == b"abc"


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


@pytest.mark.sample(1)
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
