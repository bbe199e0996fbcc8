"""Checksums put together from those of parts, against those of the whole."""

from __future__ import annotations

import base64
import hashlib
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clients.s3_uploads import checksum

from anabranch.catalog.objects.uploads import StoredPart
from anabranch.model.uploads.part import Part
from anabranch.model.uploads.upload import Upload
from anabranch.s3.payloads.checksums import ALGORITHMS
from anabranch.s3.payloads.part_checksums import (
    NAMES,
    ChecksumKind,
    PartChecksums,
    composite_checksum,
    parse_checksum_kind,
)
from anabranch.s3.protocol.errors import S3Error

CYCLIC = ["crc32", "crc32c", "crc64nvme"]


def upload(algorithm="", kind=""):
    return Upload(
        id="1",
        partition="",
        branch="main",
        path="a",
        address="",
        block="",
        creation_date=0,
        checksum_algorithm=algorithm,
        checksum_type=kind,
    )


def held(algorithm, bodies):
    return [
        StoredPart(Part(number, len(body), "", 0), (algorithm, checksum(algorithm, body)))
        for number, body in enumerate(bodies, 1)
    ]


def value(name, body):
    hasher = ALGORITHMS[name].new()
    hasher.update(body)
    return int.from_bytes(hasher.digest())


@pytest.mark.parametrize("name", CYCLIC)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_checks_are_joined(name, first, second):
    assert composite_checksum(name, value(name, first), value(name, second), len(second)) == value(
        name, first + second
    )


def test_checks_of_long_parts_are_joined():
    # what follows has the check of so many zeros; zlib computes it in pieces
    zeros = bytes(1 << 20)
    check = zlib.crc32(b"start")
    many = 0
    for _ in range(300):
        check, many = zlib.crc32(zeros, check), zlib.crc32(zeros, many)
    assert composite_checksum("crc32", zlib.crc32(b"start"), many, 300 << 20) == check


@pytest.mark.parametrize("name", CYCLIC)
@given(bodies=st.lists(st.binary(max_size=50), min_size=1, max_size=8))
def test_the_whole_has_the_check_of_its_bytes(name, bodies):
    combined = PartChecksums({}).combine(upload(name, "FULL_OBJECT"), held(name, bodies))
    assert combined == checksum(name, b"".join(bodies))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "crc64nvme"])
def test_composites_are_of_the_parts_checksums(name):
    bodies = [b"a", b"bc", b""]
    combined = PartChecksums({}).combine(upload(name, "COMPOSITE"), held(name, bodies))
    raw = b"".join(base64.b64decode(checksum(name, body)) for body in bodies)
    assert combined == checksum(name, raw) + "-3"
    if name.startswith("sha"):
        assert base64.b64decode(combined[:-2]) == hashlib.new(name, raw).digest()


def test_parts_without_theirs_have_none_together():
    parts = held("crc32", [b"a", b"b"])
    assert PartChecksums({}).combine(upload(), parts) == ""
    assert PartChecksums({}).combine(upload("crc32c", "COMPOSITE"), parts) == ""
    parts[1] = parts[1]._replace(checksum=None)
    assert PartChecksums({}).combine(upload("crc32", "COMPOSITE"), parts) == ""
    with pytest.raises(S3Error) as error:
        PartChecksums({"x-amz-checksum-crc32": "AAAAAA=="}).combine(upload(), parts)
    assert error.value.code == "InvalidRequest"


def test_declared_checksum_is_verified():
    parts = held("crc32", [b"a", b"b"])
    whole = checksum("crc32", b"ab")
    composite = PartChecksums({}).combine(upload("crc32", "COMPOSITE"), parts)
    for text, kind in itertools.product((whole, composite, composite[:-2]), ("", "FULL_OBJECT")):
        headers = {"x-amz-checksum-crc32": text} | ({"x-amz-checksum-type": kind} if kind else {})
        right = (text == whole) == bool(kind)
        for begun in (upload(), upload("crc32", "COMPOSITE")):
            if right:
                PartChecksums(headers).combine(begun, parts)
            else:
                with pytest.raises(S3Error) as error:
                    PartChecksums(headers).combine(begun, parts)
                assert error.value.code == "BadDigest"


def test_parse_checksum_kind():
    assert parse_checksum_kind("", "") == ChecksumKind("", "")
    assert parse_checksum_kind("CRC32", "") == ("crc32", "COMPOSITE")
    assert parse_checksum_kind("CRC64NVME", "") == ("crc64nvme", "FULL_OBJECT")
    assert parse_checksum_kind("crc32c", "full_object") == ("crc32c", "FULL_OBJECT")
    wrong = [("CRC64NVME", "COMPOSITE"), ("SHA1", "FULL_OBJECT"), ("MD4", ""), ("CRC32", "x")]
    for algorithm, kind in wrong:
        with pytest.raises(S3Error) as error:
            parse_checksum_kind(algorithm, kind)
        assert error.value.code == "InvalidRequest"
