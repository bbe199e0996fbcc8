"""URLs at which clients reach a store themselves, used as they are, with no keys."""

from __future__ import annotations

import hashlib
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.s3_store import s3_blocks

BODY = b"tea" * 1000
# none with dots for names: HTTP clients take them out of any URL
KEYS = ["data/a/b", "odd key+%/é/😀", "a//b", "trail/"]


@pytest.fixture
def on_s3(bucket):
    """Returns a function that makes an address in the store on S3."""
    return lambda key: f"s3://{bucket}/space/{key}"


@pytest.mark.parametrize("kind", ["memory", "local", "gcs_store", "azure_store"])
def test_for_stores_that_give_none_the_server_has_urls_of_its_own(kind, request):
    store = MemoryBlocks() if kind == "memory" else request.getfixturevalue(kind)
    address = f"{store.config.blockstore_namespace_example}a"
    assert store.presign(address, "GET", 60) is None
    assert store.presign_part(address, "upload", 1, 60) is None
    assert store.config.pre_sign_support
    assert store.config.pre_sign_multipart_upload


@pytest.mark.parametrize("key", KEYS)
def test_a_block_is_stored_and_read(s3_store, on_s3, key):
    address = on_s3(key)
    put = httpx2.put(s3_store.presign(address, "PUT", 60), content=BODY, timeout=60)
    md5 = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    assert (put.status_code, put.headers["etag"]) == (200, f'"{md5}"')
    assert s3_store.read(address) == BODY
    url = s3_store.presign(address, "GET", 60)
    assert httpx2.get(url, timeout=60).content == BODY
    part = httpx2.get(url, headers={"Range": "bytes=3-5"}, timeout=60)
    assert (part.status_code, part.content) == (206, b"tea")


def test_parts(s3_store, on_s3):
    address = on_s3("data/parts")
    upload = s3_store.open_upload(address)
    bodies = [b"a" * (5 << 20), b"end"]
    parts = []
    for number, body in enumerate(bodies, 1):
        url = s3_store.presign_part(address, upload, number, 60)
        put = httpx2.put(url, content=body, timeout=60)
        parts.append((number, put.headers["etag"].strip('"')))
    assert [(part.number, part.checksum) for part in s3_store.parts(address, upload)] == parts
    s3_store.complete_upload(address, upload, parts)
    assert s3_store.read(address) == b"".join(bodies)


def test_a_url_says_for_how_long_and_where(s3, bucket):
    store = s3_blocks(s3.access(public_endpoint="https://s3.example.com"))
    parts = urlsplit(store.presign(f"s3://{bucket}/a", "GET", 90))
    assert (parts.scheme, parts.netloc) == ("https", "s3.example.com")
    assert parts.path == f"/{bucket}/a"
    assert parse_qs(parts.query)["X-Amz-Expires"] == ["90"]
