"""Checksums and parts in an object's system metadata."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.objects.entry import Entry, user_metadata
from anabranch.model.uploads.object_checksum import (
    ObjectChecksum,
    checksum_metadata,
    stored_checksum,
)
from anabranch.model.uploads.object_parts import (
    MAX_CHECKSUM_BYTES,
    object_parts,
    parts_metadata,
    stored_parts,
)

ETAG = "900150983cd24fb0d6963f7d28e17f72"
OF_PARTS = f"{ETAG}-3"


def entry(metadata, size=0, etag=ETAG):
    return Entry(address="a", size=size, mtime=0, checksum=etag, system_metadata=metadata)


def encoded(raw):
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("algorithm", "size"),
    [("crc32", 4), ("crc32c", 4), ("crc64nvme", 8), ("md5", 16), ("sha1", 20), ("sha256", 32)],
)
@pytest.mark.parametrize("suffix", ["", "-3", "-10000"])
def test_checksum_round_trips(algorithm, size, suffix):
    checksum = ObjectChecksum(algorithm, encoded(random.Random(size).randbytes(size)) + suffix)
    kept = stored_checksum(entry(checksum_metadata(ETAG, checksum)))
    assert kept == checksum
    assert kept.type == ("COMPOSITE" if suffix else "FULL_OBJECT")


def test_stored_metadata_is_readable_text():
    kept = checksum_metadata(ETAG, ObjectChecksum("crc32", "NSRBwg=="))
    assert kept == {"::anabranch::checksum": "90015098 crc32 NSRBwg=="}
    assert checksum_metadata(ETAG, None) == {}
    assert checksum_metadata("an etag of another store", ObjectChecksum("crc32", "NSRBwg==")) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "90015098",
        "90015098 crc32 ",
        "90015098 crc32 NSRBwg==\r\nX: y",
        "90015098 crc32\n NSRBwg==",
        "90015098 crc32 NSRBwg==-",
        "90015098 crc32 NSRBwg==-123456",
        "90015098 CRC32 NSRBwg==",
        "9001509 crc32 NSRBwg==",
        "00000000 crc32 NSRBwg==",
        "90015098 crc32 " + "A" * 200,
    ],
)
def test_malformed_checksum_is_ignored(text):
    assert stored_checksum(entry({"::anabranch::checksum": text})) is None


@given(
    st.lists(st.integers(0, 2**40) | st.just(5 << 20), min_size=1, max_size=50),
    st.sampled_from([("", 0), ("crc32", 4), ("crc64nvme", 8), ("sha256", 32)]),
    st.randoms(use_true_random=False),
)
def test_parts_round_trip(sizes, kind, source):
    name, length = kind
    checksums = [(name, encoded(source.randbytes(length))) if name else None for _ in sizes]
    parts = object_parts(sizes, checksums)
    kept = stored_parts(entry(parts_metadata(OF_PARTS, parts), sum(sizes), OF_PARTS))
    assert kept == parts
    assert list(kept.sizes) == sizes
    assert kept.algorithm == name
    for number, checksum in enumerate(checksums, 1):
        assert kept.checksum(number) == ("" if checksum is None else checksum[1])


def test_ten_thousand_parts_are_stored_compactly():
    sizes = [8 << 20] * 9_999 + [17]
    source = random.Random(0)
    crcs = [("crc32", encoded(source.randbytes(4))) for _ in sizes]
    packed = parts_metadata(OF_PARTS, object_parts(sizes, crcs))
    assert len(packed["::anabranch::parts"]) < 54_000
    digests = [("sha256", encoded(source.randbytes(32))) for _ in sizes]
    assert 32 * len(digests) > MAX_CHECKSUM_BYTES
    bare = object_parts(sizes, digests)
    assert (bare.algorithm, bare.checksums) == ("", b"")
    assert stored_parts(entry(parts_metadata(OF_PARTS, bare), sum(sizes), OF_PARTS)) == bare
    assert len(parts_metadata(OF_PARTS, bare)["::anabranch::parts"]) < 40
    odd = object_parts([(5 << 30) - number for number in range(10_000)])
    assert len(parts_metadata(OF_PARTS, odd)["::anabranch::parts"]) < 81_000


@pytest.mark.parametrize(
    "checksums",
    [
        [("crc32", "NSRBwg=="), None],
        [("crc32", "NSRBwg=="), ("sha1", encoded(b"x" * 20))],
        [None, None],
        [],
    ],
)
def test_incomplete_part_checksums_are_omitted(checksums):
    parts = object_parts([1, 2], checksums)
    assert (parts.sizes, parts.algorithm, parts.checksums) == ((1, 2), "", b"")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x01",
        b"\x02\x00\x01\x07\x01",
        b"\x01\x00\x00",
        b"\x01\x00\x01\x07\x00",
        b"\x01\x00\x01\x07\x91\x4e",
        b"\x01\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x01\x00\x01\x07\x01left over",
        b"\x01\x05crc32\x01\x07\x01",
        b"\x01\x05crc32\x02\x07\x01\x00\x01abc",
        b"\x01\xffcrc32",
        b"\x01\x01\xff\x01\x07\x01abcd",
    ],
)
def test_malformed_parts_are_ignored(raw):
    metadata = {"::anabranch::parts": f"90015098 {encoded(raw)}"}
    assert stored_parts(entry(metadata, 7, OF_PARTS)) is None


def test_parts_of_another_object_are_ignored():
    metadata = parts_metadata(OF_PARTS, object_parts([3, 4]))
    assert stored_parts(entry(metadata, 7, OF_PARTS)) is not None
    assert stored_parts(entry(metadata, 8, OF_PARTS)) is None
    assert stored_parts(entry(metadata, 7, "f" * 32)) is None
    assert stored_parts(entry({"::anabranch::parts": "90015098 !"}, 7)) is None
    assert stored_parts(entry({}, 7)) is None


@given(st.binary(max_size=60))
def test_any_record_of_parts_is_parsed_or_ignored(raw):
    stored_parts(entry({"::anabranch::parts": f"90015098 {encoded(raw)}"}, 7))


def test_user_metadata_excludes_system_metadata():
    given = {"a": "1", "::anabranch::checksum": "x", "::anabranch::": "y", "::lakefs::a": "2"}
    assert user_metadata(given) == {"a": "1", "::lakefs::a": "2"}
    assert user_metadata(None) == {}
