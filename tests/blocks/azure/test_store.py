"""Properties of Azure's blob storage."""

from __future__ import annotations

import hashlib
import os

import pytest

from anabranch.blocks.azure.store import azure_blocks
from anabranch.errors import AlreadyExists, Invalid, StoreRefused
from anabranch.model.secret import Secret

MIB = 1 << 20


def blob_names(azure, namespace):
    """Returns the names of all blobs, including those of uploads."""
    objects = azure.blocks()._paths
    location = azure.blocks()._addresses.parse_prefix(f"{namespace}/")
    return [item.key for item in objects.list(location, "")]


def test_namespaces_name_an_account():
    store = azure_blocks(domain="blob.example.cn")
    assert store.config.namespace_validity_regex == r"^https?://[a-z0-9_-]+\.blob\.example\.cn"
    assert store.accepts("https://a-b_1.blob.example.cn/container/prefix")
    for bad in (
        "https://a.blob.core.windows.net/container",
        "https://a.blob.example.cn",
        "https://a.blob.example.cn/",
        "https://a.b.blob.example.cn/c",
        "https://a.blobxexample.cn/c",
        "https://A.blob.example.cn/c",
    ):
        assert not store.accepts(bad)


def test_a_key_is_for_one_account():
    store = azure_blocks(account="ours", access_key=Secret("c2VjcmV0"))
    with pytest.raises(Invalid, match="'ours'"):
        store.stat("https://another.blob.core.windows.net/lake/a")


@pytest.mark.parametrize("key", ["a\\b", "a.", "a./b", "a//b", "a/", "a/../b"])
def test_keys_that_azure_would_change_are_refused(azure, azure_namespace, key):
    for use in (azure.blocks().stat, azure.blocks().open_upload):
        with pytest.raises(Invalid):
            use(f"{azure_namespace}/{key}")


def test_a_missing_container_raises_store_refused(azure):
    with pytest.raises(StoreRefused) as error:
        azure.blocks().put(f"{azure.root}/there-is-none/a", [b"x"])
    assert error.value.kind == "bucket_missing"


def test_a_wrong_key_raises_store_refused(azure, azure_namespace):
    wrong = azure_blocks(
        account="devstoreaccount1",
        access_key=Secret("c2VjcmV0"),
        endpoint=f"http://127.0.0.1:{azure.port}/devstoreaccount1",
    )
    with pytest.raises(StoreRefused) as error:
        wrong.put(f"{azure_namespace}/a", [b"x"])
    assert error.value.kind in {"storage_credentials", "storage_permission"}  # Azurite's words


class TestLarge:
    def test_blocks_are_stored_whole(self, azure, azure_namespace):
        body, address = os.urandom(20 * MIB + 1), f"{azure_namespace}/large"
        store = azure.blocks()
        chunks = (body[at : at + 700_001] for at in range(0, len(body), 700_001))
        assert store.put(address, chunks)[:2] == (len(body), hashlib.md5(body).hexdigest())
        assert store.read(address) == body
        with pytest.raises(AlreadyExists):
            store.put(address, [body], if_absent=True)

    def test_blocks_that_fail_leave_nothing(self, azure, azure_namespace):
        def cut_off():
            for _ in range(20):
                yield b"x" * MIB
            raise ConnectionError("the client went away")

        with pytest.raises(ConnectionError):
            azure.blocks().put(f"{azure_namespace}/large", cut_off())
        assert blob_names(azure, azure_namespace) == []
