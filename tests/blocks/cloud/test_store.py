"""Properties of object stores: several buckets, and blocks that are too large for memory."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import uuid

import pytest

from anabranch.blocks.cloud.addresses import AddressParser
from anabranch.blocks.s3 import client as s3_client
from anabranch.errors import AlreadyExists, Invalid

MIB = 1 << 20
KEYS = ["a//b", "/a", "a/", "a", "../../a", "a\x01b", "é"]


@pytest.fixture
def other_bucket(s3):
    name = f"other-{uuid.uuid4()}"
    s3.make_bucket(name)
    return name


class TestAddresses:
    FORM = AddressParser(r"s3://(?P<bucket>[^/]+)")

    def test_name_a_bucket_and_a_key(self):
        for key in KEYS:
            assert self.FORM.parse(f"s3://b.u-c/{key}")[1:] == ("b.u-c", key)
            assert self.FORM.parse(f"s3://b/{key}").address == f"s3://b/{key}"

    @pytest.mark.parametrize("odd", ["s3://", "s3:///a", "s3:/b/a", "S3://b/a", "xs3://b/a", "s3"])
    def test_that_are_malformed_are_refused(self, odd):
        with pytest.raises(Invalid):
            self.FORM.parse(odd)
        assert not self.FORM.accepts(odd)


class TestBuckets:
    def test_have_separate_keys(self, s3_store, bucket, other_bucket):
        s3_store.put(f"s3://{bucket}/a", [b"x"])
        assert s3_store.stat(f"s3://{other_bucket}/a") is None
        assert list(s3_store.list(f"s3://{other_bucket}/")) == []

    def test_may_be_copied_between(self, s3_store, bucket, other_bucket):
        s3_store.put(f"s3://{bucket}/a b+c", [b"abc"])
        stored = s3_store.copy(f"s3://{bucket}/a b+c", f"s3://{other_bucket}/é")
        assert stored[:2] == (3, hashlib.md5(b"abc").hexdigest())
        assert s3_store.read(f"s3://{other_bucket}/é") == b"abc"
        upload = s3_store.open_upload(f"s3://{other_bucket}/c")
        part = s3_store.copy_part(f"s3://{other_bucket}/c", upload, 1, f"s3://{bucket}/a b+c")
        assert part.checksum == hashlib.md5(b"abc").hexdigest()

    def test_may_be_deleted_from_in_one_call(self, s3_store, bucket, other_bucket):
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
        for key in ("large", "a\x7flarge"):
            stored = s3_store.put(f"s3://{bucket}/{key}", iter(chunks))
            assert stored[:2] == (len(body), hashlib.md5(body).hexdigest())
            assert s3_store.read(f"s3://{bucket}/{key}") == body
            pieces = list(s3_store.get(f"s3://{bucket}/{key}"))
            assert b"".join(pieces) == body
            assert all(0 < len(piece) <= MIB for piece in pieces)
            assert client.head_object(Bucket=bucket, Key=key)["ETag"].endswith('-3"')

    def test_blocks_that_fail_leave_no_parts(self, s3_store, client, bucket):
        def cut_off():
            for _ in range(20):
                yield b"x" * MIB
            raise ConnectionError("the client went away")

        with pytest.raises(ConnectionError):
            s3_store.put(f"s3://{bucket}/large", cut_off())
        assert s3_store.stat(f"s3://{bucket}/large") is None
        assert "MultipartClient" not in client.list_multipart_uploads(Bucket=bucket)

    @pytest.mark.slow  # shorter ones do in tests/blocks/test_contract.py
    def test_blocks_replace_each_other(self, s3_store, bucket):
        for number in (3, 4):
            for key in ("large", "a\x7flarge"):
                s3_store.put(f"s3://{bucket}/{key}", [bytes([number]) * (number * 3 * MIB)])
                assert s3_store.read(f"s3://{bucket}/{key}") == bytes([number]) * (number * 3 * MIB)

    def test_blocks_are_not_created_twice(self, s3_store, bucket):
        body = [os.urandom(MIB)] * 9
        s3_store.put(f"s3://{bucket}/large", body, if_absent=True)
        with pytest.raises(AlreadyExists):
            s3_store.put(f"s3://{bucket}/large", body, if_absent=True)

    def test_blocks_are_copied_in_parts(self, s3_store, bucket, monkeypatch):
        monkeypatch.setattr(s3_client, "_MAX_SINGLE_COPY_BYTES", 6 * MIB)
        monkeypatch.setattr(s3_client, "_COPY_PART_BYTES", 5 * MIB)
        body = random.Random(2).randbytes(12 * MIB + 1)
        s3_store.put(f"s3://{bucket}/a", [body])
        stored = s3_store.copy(f"s3://{bucket}/a", f"s3://{bucket}/b")
        assert stored[:2] == (len(body), hashlib.md5(body).hexdigest())
        assert s3_store.read(f"s3://{bucket}/b") == body

    def test_parts_grow_so_that_ten_thousand_are_enough(self):
        sizes = {}
        # the chunks are one object, counted and never joined to more than a part
        chunk = bytes(8 * MIB)
        for number, part in enumerate(s3_client._join_to_parts(iter([chunk] * 1_003)), 1):
            sizes[number] = len(part)
        assert sizes[1] == sizes[1_000] == 8 * MIB
        assert sizes[1_001] == 16 * MIB
        assert sum(8 * MIB << n // 1_000 for n in range(10_000)) > 5 << 40


class TestListing:
    def test_goes_on_after_a_page(self, emulated_s3):
        bucket, pages = f"paged-{uuid.uuid4()}", []
        emulated_s3.make_bucket(bucket)
        store = emulated_s3.blocks()
        addresses = [f"s3://{bucket}/{number // 9}/{number:02d}" for number in range(45)]
        for address in addresses:
            store.put(address, [b""])

        def answer_in_tens(environ, start):
            pages.append(environ["QUERY_STRING"])
            environ["QUERY_STRING"] += "&max-keys=10"
            return emulated_s3.pass_on(environ, start)

        emulated_s3.answer = answer_in_tens
        try:
            listed = [info.address for info in store.list(f"s3://{bucket}/")]
            rest = [info.address for info in store.list(f"s3://{bucket}/", addresses[20])]
        finally:
            emulated_s3.answer = None
        assert listed == addresses
        assert rest == addresses[21:]
        assert len(pages) == 5 + 3

    @pytest.mark.slow  # the store's own pages, above with shorter ones
    def test_has_all_pages(self, s3_store, bucket):
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
