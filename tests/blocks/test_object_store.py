"""What is special in object stores: odd keys, several buckets, blocks too large for memory."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import uuid

import boto3
import pytest

from anabranch.blocks import s3_objects
from anabranch.blocks.object_addresses import AddressForm, is_path
from anabranch.errors import AlreadyExists, Gone, Invalid

MIB = 1 << 20
ODD = ["a//b", "a/b", "//a", "/a", "a/", "a", "../../a", "a/../b", "./a", "a/.", "a\x01b", "\x7f"]


@pytest.fixture
def client(s3):
    """A client of others', to see what really is in a bucket."""
    who = s3.access().credentials()
    return boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=who.access_key_id,
        aws_secret_access_key=who.secret.reveal(),
        region_name="us-east-1",
    )


@pytest.fixture
def other_bucket(s3):
    name = f"other-{uuid.uuid4()}"
    s3.make_bucket(name)
    return name


class TestOddKeys:
    def test_are_stored_as_they_are(self, s3_store, client, bucket):
        for key in ODD:
            s3_store.put(f"s3://{bucket}/{key}", [key.encode()], create=True)
        with pytest.raises(AlreadyExists):
            s3_store.put(f"s3://{bucket}/a//b", [b"x"], create=True)
        for key in ODD:
            assert client.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode()
            assert s3_store.read(f"s3://{bucket}/{key}") == key.encode()
            assert s3_store.stat(f"s3://{bucket}/{key}").size == len(key)
        listed = [info.address for info in s3_store.list(f"s3://{bucket}/")]
        assert listed == sorted(f"s3://{bucket}/{key}" for key in ODD)

    def test_are_read_in_part_copied_and_deleted_as_they_are(self, s3_store, bucket):
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
    def test_that_no_store_keeps_are_refused(self, s3_store, bucket, key):
        with pytest.raises(Invalid):
            s3_store.put(f"s3://{bucket}/{key}", [b"x"])

    def test_paths_are_told_from_other_keys(self):
        assert not any(map(is_path, set(ODD) - {"a/b", "a"}))
        assert all(map(is_path, ["a", "a/b", "..a", "a..b/...", "é", "a b", "%2e%2e", "\x80"]))


class TestAddresses:
    FORM = AddressForm(r"s3://(?P<bucket>[^/]+)")

    def test_name_a_bucket_and_a_key(self):
        for key in ODD:
            assert self.FORM.block(f"s3://b.u-c/{key}")[1:] == ("b.u-c", key)
            assert self.FORM.block(f"s3://b/{key}").address == f"s3://b/{key}"

    @pytest.mark.parametrize("odd", ["s3://", "s3:///a", "s3:/b/a", "S3://b/a", "xs3://b/a", "s3"])
    def test_of_another_form_are_refused(self, odd):
        with pytest.raises(Invalid):
            self.FORM.block(odd)
        assert not self.FORM.accepts(odd)


class TestBuckets:
    def test_are_stores_of_their_own(self, s3_store, bucket, other_bucket):
        s3_store.put(f"s3://{bucket}/a", [b"x"])
        assert s3_store.stat(f"s3://{other_bucket}/a") is None
        assert list(s3_store.list(f"s3://{other_bucket}/")) == []

    def test_may_be_copied_between(self, s3_store, bucket, other_bucket):
        s3_store.put(f"s3://{bucket}/a b+c", [b"tea"])
        stored = s3_store.copy(f"s3://{bucket}/a b+c", f"s3://{other_bucket}/é")
        assert stored[:2] == (3, hashlib.md5(b"tea").hexdigest())
        assert s3_store.read(f"s3://{other_bucket}/é") == b"tea"
        upload = s3_store.open_upload(f"s3://{other_bucket}/c")
        part = s3_store.copy_part(f"s3://{other_bucket}/c", upload, 1, f"s3://{bucket}/a b+c")
        assert part.checksum == hashlib.md5(b"tea").hexdigest()

    def test_may_be_deleted_from_at_once(self, s3_store, bucket, other_bucket):
        addresses = [f"s3://{name}/{key}" for name in (bucket, other_bucket) for key in "ab"]
        for address in addresses:
            s3_store.put(address, [b"x"])
        s3_store.delete(addresses)
        assert list(s3_store.list(f"s3://{bucket}/")) == []
        assert list(s3_store.list(f"s3://{other_bucket}/")) == []


class TestLarge:
    def test_blocks_are_stored_in_parts(self, s3_store, client, bucket):
        body = random.Random(1).randbytes(20 * MIB + 7)
        chunks = [body[at : at + 700_001] for at in range(0, len(body), 700_001)]
        for key in ("large", "a//large"):
            stored = s3_store.put(f"s3://{bucket}/{key}", iter(chunks))
            assert stored[:2] == (len(body), hashlib.md5(body).hexdigest())
            assert s3_store.read(f"s3://{bucket}/{key}") == body
            pieces = list(s3_store.get(f"s3://{bucket}/{key}"))
            assert b"".join(pieces) == body
            assert all(0 < len(piece) <= MIB for piece in pieces)
            assert client.head_object(Bucket=bucket, Key=key)["ETag"].endswith('-3"')

    def test_blocks_that_are_cut_off_leave_nothing(self, s3_store, client, bucket):
        def cut_off():
            for _ in range(20):
                yield b"x" * MIB
            raise ConnectionError("the client went away")

        with pytest.raises(ConnectionError):
            s3_store.put(f"s3://{bucket}/large", cut_off())
        assert s3_store.stat(f"s3://{bucket}/large") is None
        assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)

    def test_blocks_are_not_created_twice(self, s3_store, bucket):
        body = [os.urandom(MIB)] * 9
        s3_store.put(f"s3://{bucket}/large", body, create=True)
        with pytest.raises(AlreadyExists):
            s3_store.put(f"s3://{bucket}/large", body, create=True)

    def test_blocks_are_copied_in_parts(self, s3_store, bucket, monkeypatch):
        monkeypatch.setattr(s3_objects, "_COPY_AT_ONCE_BYTES", 6 * MIB)
        monkeypatch.setattr(s3_objects, "_COPY_PART_BYTES", 5 * MIB)
        body = random.Random(2).randbytes(12 * MIB + 1)
        s3_store.put(f"s3://{bucket}/a", [body])
        stored = s3_store.copy(f"s3://{bucket}/a", f"s3://{bucket}/b")
        assert stored[:2] == (len(body), hashlib.md5(body).hexdigest())
        assert s3_store.read(f"s3://{bucket}/b") == body

    def test_parts_grow_so_that_ten_thousand_are_enough(self):
        sizes = {}
        # the chunks are one object, counted and never joined to more than a part
        chunk = bytes(8 * MIB)
        for number, part in enumerate(s3_objects._in_parts(iter([chunk] * 1_003)), 1):
            sizes[number] = len(part)
        assert sizes[1] == sizes[1_000] == 8 * MIB
        assert sizes[1_001] == 16 * MIB
        assert sum(8 * MIB << n // 1_000 for n in range(10_000)) > 5 << 40


class TestListing:
    def test_goes_over_pages(self, s3_store, bucket):
        keys = sorted(f"{number % 7}/{number:04d}" for number in range(1_020))
        each = threading.Semaphore(8)

        def put(key):
            with each:
                s3_store.put(f"s3://{bucket}/{key}", [b""])

        threads = [threading.Thread(target=put, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listed = [info.address for info in s3_store.list(f"s3://{bucket}/")]
        assert listed == [f"s3://{bucket}/{key}" for key in keys]
        after = f"s3://{bucket}/{keys[100]}"
        assert [i.address for i in s3_store.list(f"s3://{bucket}/", after)] == listed[101:]
        s3_store.delete(listed)
        assert list(s3_store.list(f"s3://{bucket}/")) == []
