"""Listings of objects that other programs have stored in object stores."""

from __future__ import annotations

import hashlib

import pytest

from anabranch.errors import Invalid, NotFound

KEYS = ["raw/2023/a", "raw/2024/a", "raw/2024/b/c", "raw/2024-b", "raw/ä", "rax"]
STORES = {
    "s3_store": "s3_namespace",
    "gcs_store": "gs_namespace",
    "azure_store": "azure_namespace",
}


@pytest.fixture(params=STORES)
def stored(request: pytest.FixtureRequest):
    """A store with some keys, and the address of their folder."""
    store = request.getfixturevalue(request.param)
    base = request.getfixturevalue(STORES[request.param])
    for key in KEYS:
        store.put(f"{base}/{key}", [key.encode()])
    return store, base


def test_a_listing_has_all_objects_with_the_prefix(stored):
    store, base = stored
    assert store.config.import_support
    listed = list(store.sources.list(f"{base}/raw/2024"))
    assert sorted(each.name.decode() for each in listed) == ["2024-b", "2024/a", "2024/b/c"]
    for each in listed:
        key = f"raw/{each.name.decode()}"
        assert each.address == f"{base}/{key}"
        assert each.size == len(key)
        assert each.mtime > 1_600_000_000 * 10**9
        assert store.read(each.address) == key.encode()
        assert store.sources.find(each.address) == each._replace(name=b"")
        assert '"' not in each.checksum


def test_the_etag_of_s3_is_reported(s3_store, s3_namespace):
    s3_store.put(f"{s3_namespace}/a", [b"content"])
    (listed,) = s3_store.sources.list(f"{s3_namespace}/")
    assert listed.checksum == hashlib.md5(b"content").hexdigest()


def test_a_missing_object_raises_not_found(stored):
    store, base = stored
    assert list(store.sources.list(f"{base}/nowhere/")) == []
    with pytest.raises(NotFound, match="there is no such object"):
        store.sources.find(f"{base}/nowhere")


def test_addresses_of_other_stores_are_refused(stored):
    store, _ = stored
    for address in ("local:///data/", "ftp://bucket/a", ""):
        with pytest.raises(Invalid):
            store.sources.check(address)
