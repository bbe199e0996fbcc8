"""Which URLs clients are given: the store's own, or the server's."""

from __future__ import annotations

import pytest

from anabranch.blocks.azure_store import azure_blocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.block_urls import BlockUrls
from anabranch.catalog.presigning import Presigning
from anabranch.errors import NotSupported
from anabranch.model.secret import Secret

ADDRESS = "https://ours.blob.core.windows.net/lake/a"
SERVER = "https://lake.example.com"


def presigning(blocks):
    return Presigning(blocks, BlockUrls(b"secret", lambda: 1000), lambda: 1000, 60)


def azure(*, pre_sign_support=True):
    key = Secret("c2VjcmV0")
    return azure_blocks(account="ours", access_key=key, pre_sign_support=pre_sign_support)


def test_of_a_store_that_signs_they_are_its_own():
    urls = presigning(azure())
    for url in (urls.read(ADDRESS, SERVER), urls.store(ADDRESS, SERVER)):
        assert url.url.startswith(f"{ADDRESS}?")
        assert url.expires == 1060
    assert urls.direct(ADDRESS).startswith(f"{ADDRESS}?")
    part = urls.store_part(ADDRESS, "upload", 3, SERVER)
    assert part.url.startswith(f"{SERVER}/_signed/")


def test_of_another_they_are_the_servers_and_nobody_is_sent_to_the_store():
    urls = presigning(MemoryBlocks(pre_signed=True))
    assert urls.read("mem://lake/a", SERVER).url.startswith(f"{SERVER}/_signed/")
    assert urls.direct("mem://lake/a") is None


@pytest.mark.parametrize("blocks", [azure(pre_sign_support=False), MemoryBlocks()])
def test_a_store_without_presigned_urls_gives_none(blocks):
    urls = presigning(blocks)
    address = f"{blocks.config.blockstore_namespace_example}a"
    assert not urls.supported
    assert urls.direct(address) is None
    for refused in (
        lambda: urls.read(address, SERVER),
        lambda: urls.read(address, SERVER, "etag"),
        lambda: urls.store(address, SERVER),
    ):
        with pytest.raises(NotSupported) as caught:
            refused()
        assert caught.value.kind == "unsupported_by_store"
    with pytest.raises(NotSupported) as caught:
        urls.store_part(address, "upload", 1, SERVER)
    assert caught.value.kind == "presigned_parts_not_supported"
