"""What headers say of a body, and what they cannot say."""

from __future__ import annotations

import pytest

from anabranch.s3.payloads.body_headers import parse_body_headers, stored_encoding
from anabranch.s3.payloads.payload import Payload
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.verified import Verified

SHA = "E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
DECODED = {"x-amz-decoded-content-length": "5"}


def test_body_without_declaration():
    claims = parse_body_headers({}, None)
    assert (claims.chunks, claims.sha256, claims.length, claims.wire_length) == (
        False,
        None,
        None,
        None,
    )


def test_signed_payload_takes_precedence_over_the_header():
    headers = {"x-amz-content-sha256": SHA, "content-length": "3"}
    assert parse_body_headers(headers, "UNSIGNED-PAYLOAD").sha256 is None
    claims = parse_body_headers(headers, None)
    assert (claims.sha256, claims.length) == (SHA.lower(), 3)


@pytest.mark.parametrize("word", [TRAILER, SIGNED, f"{SIGNED}-TRAILER"])
def test_chunks(word):
    claims = parse_body_headers({"content-length": "90", **DECODED}, word)
    assert claims.chunks
    assert claims.signed_chunks == word.startswith(SIGNED)
    assert claims.trailers == word.endswith("TRAILER")
    assert (claims.length, claims.wire_length) == (5, 90)
    for length in (None, "", "-1", "x", "1.5", "\u0661", "9" * 19):
        headers = {} if length is None else {"x-amz-decoded-content-length": length}
        with pytest.raises(S3Error) as caught:
            parse_body_headers(headers, word)
        assert (caught.value.code, caught.value.status) == ("MissingContentLength", 411)


def test_chunks_of_a_request_that_is_not_signed_by_version_4():
    headers = {
        "content-encoding": "gzip, aws-chunked",
        **DECODED,
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    claims = parse_body_headers(headers, None)
    assert (claims.chunks, claims.trailer) == (True, "crc32")
    assert not parse_body_headers({"content-encoding": "aws-chunked"}, None).chunks
    with pytest.raises(S3Error) as caught:
        Payload({"x-amz-content-sha256": SIGNED, **DECODED}, [])
    assert caught.value.code == "InvalidRequest"
    with pytest.raises(S3Error):
        Payload(
            {"x-amz-content-sha256": SIGNED, **DECODED}, [], Verified(access_key_id="of version 2")
        )


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ("", ""),
        ("aws-chunked", ""),
        ("gzip", "gzip"),
        ("gzip,aws-chunked", "gzip"),
        ("AWS-Chunked, br , gzip", "br , gzip"),
    ],
)
def test_the_encoding_that_is_stored(said, stored):
    assert stored_encoding({"content-encoding": said} if said else {}) == stored


def test_checksums():
    crc = {"x-amz-checksum-crc32": "AAAAAQ=="}
    assert parse_body_headers(crc, None).checksum == ("crc32", b"\0\0\0\1")
    named = {**crc, "x-amz-sdk-checksum-algorithm": "CRC32"}
    assert parse_body_headers(named, None).checksum == ("crc32", b"\0\0\0\1")
    about = {"x-amz-checksum-algorithm": "CRC32", "x-amz-checksum-type": "FULL_OBJECT"}
    assert parse_body_headers({**about, "x-amz-checksum-mode": "ENABLED"}, None).checksum is None


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"x-amz-content-sha256": "short"}, "InvalidArgument"),
        ({"x-amz-content-sha256": SHA + "0"}, "InvalidArgument"),
        ({"x-amz-content-sha256": ""}, "InvalidArgument"),
        ({"x-amz-content-sha256": "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"}, "InvalidArgument"),
        ({"content-length": "-1"}, "InvalidArgument"),
        ({"content-length": "1,1"}, "InvalidArgument"),
        ({"content-md5": "x"}, "InvalidDigest"),
        ({"content-md5": "AAAAAQ=="}, "InvalidDigest"),
        ({"x-amz-checksum-crc32": "x"}, "InvalidRequest"),
        ({"x-amz-checksum-sha256": "AAAAAQ=="}, "InvalidRequest"),
        ({"x-amz-checksum-xxhash64": "AAAAAQ=="}, "InvalidRequest"),
        ({"x-amz-checksum-": "AAAAAQ=="}, "InvalidRequest"),
        (
            {"x-amz-checksum-crc32": "AAAAAQ==", "x-amz-checksum-crc32c": "AAAAAQ=="},
            "InvalidRequest",
        ),
        ({"x-amz-sdk-checksum-algorithm": "CRC32"}, "InvalidRequest"),
        (
            {"x-amz-checksum-crc32": "AAAAAQ==", "x-amz-sdk-checksum-algorithm": "SHA1"},
            "InvalidRequest",
        ),
        ({"x-amz-trailer": "x-amz-checksum-crc32"}, "InvalidRequest"),
        ({"x-amz-trailer": "x-amz-checksum-crc32", "x-amz-content-sha256": SHA}, "InvalidRequest"),
    ],
)
def test_invalid_body_headers_are_rejected(headers, code):
    with pytest.raises(S3Error) as caught:
        parse_body_headers(headers, None)
    assert (caught.value.code, caught.value.status) == (code, 400)


@pytest.mark.parametrize(
    "trailer",
    [
        "x-amz-checksum-xxhash64",
        "x-amz-checksum-crc32,x-amz-checksum-sha1",
        "crc32",
        "x-amz-meta-a",
    ],
)
def test_trailers_that_are_not_known(trailer):
    headers = {"x-amz-content-sha256": TRAILER, "x-amz-trailer": trailer, **DECODED}
    with pytest.raises(S3Error) as caught:
        parse_body_headers(headers, None)
    assert caught.value.code == "InvalidRequest"


def test_one_checksum_only_before_or_after_the_body():
    headers = {"x-amz-content-sha256": TRAILER, "x-amz-trailer": "x-amz-checksum-crc32", **DECODED}
    assert parse_body_headers(headers, None).trailer == "crc32"
    with pytest.raises(S3Error) as caught:
        parse_body_headers({**headers, "x-amz-checksum-crc32": "AAAAAQ=="}, None)
    assert caught.value.code == "InvalidRequest"
