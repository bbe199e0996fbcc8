"""Keys that are not paths: AWS's S3 and moto store them unchanged; MinIO refuses some."""

from __future__ import annotations

import pytest

from anabranch.blocks.cloud.addresses import is_path
from anabranch.errors import AlreadyExists, Gone, Invalid

ODD = ["a//b", "a/b", "//a", "/a", "a/", "a", "../../a", "a/../b", "./a", "a/.", "a\x01b", "\x7f"]


@pytest.fixture
def s3(emulated_s3):
    """A service that supports all keys."""
    return emulated_s3


class TestOddKeys:
    def test_are_stored_unchanged(self, s3_store, client, bucket):
        for key in ODD:
            s3_store.put(f"s3://{bucket}/{key}", [key.encode()], if_absent=True)
        with pytest.raises(AlreadyExists):
            s3_store.put(f"s3://{bucket}/a//b", [b"x"], if_absent=True)
        for key in ODD:
            assert client.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
            assert s3_store.read(f"s3://{bucket}/{key}") == key.encode()
            assert s3_store.stat(f"s3://{bucket}/{key}").size == len(key)
        listed = [info.address for info in s3_store.list(f"s3://{bucket}/")]
        assert listed == sorted(f"s3://{bucket}/{key}" for key in ODD)

    def test_can_be_read_copied_and_deleted(self, s3_store, bucket):
        for key in ODD:
            s3_store.put(f"s3://{bucket}/{key}", [b"0123456789", key.encode()])
        address = f"s3://{bucket}/a//b"
        assert s3_store.read(address, 3, 4) == b"3456"
        assert s3_store.read(address, 14) == b""
        for start, length in ((0, 15), (15, None), (-1, 1)):
            with pytest.raises(Gone):
                s3_store.get(address, start, length)
        s3_store.copy(address, f"s3://{bucket}/copies/../x//")
        assert s3_store.read(f"s3://{bucket}/copies/../x//") == b"0123456789a//b"
        s3_store.delete([f"s3://{bucket}/{key}" for key in (*ODD, "never//there", "never")])
        assert [i.address for i in s3_store.list(f"s3://{bucket}/")] == [
            f"s3://{bucket}/copies/../x//"
        ]
        assert s3_store.stat(address) is None
        with pytest.raises(Gone):
            s3_store.read(address)

    def test_may_have_parts(self, s3_store, bucket):
        address = f"s3://{bucket}/a//../b/"
        upload = s3_store.open_upload(address)
        part = s3_store.put_part(address, upload, 1, [b"one"])
        s3_store.put(f"s3://{bucket}/x//y", [b"0123"])
        other = s3_store.copy_part(address, upload, 2, f"s3://{bucket}/x//y", 1, 2)
        s3_store.complete_upload(address, upload, [(1, part.checksum), (2, other.checksum)])
        assert s3_store.read(address) == b"one12"

    @pytest.mark.parametrize("key", ["", "k" * 1_025, "\ud800", "é" * 513])
    def test_that_no_store_supports_are_refused(self, s3_store, bucket, key):
        with pytest.raises(Invalid):
            s3_store.put(f"s3://{bucket}/{key}", [b"x"])

    def test_is_path_distinguishes_paths_from_other_keys(self):
        assert not any(map(is_path, set(ODD) - {"a/b", "a"}))
        assert all(map(is_path, ["a", "a/b", "..a", "a..b/...", "é", "a b", "%2e%2e", "\x80"]))
