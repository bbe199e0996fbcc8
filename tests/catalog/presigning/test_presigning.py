"""Presigned URLs: the store's own, or this server's."""

from __future__ import annotations

import pytest

from anabranch.blocks.azure.store import azure_blocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.presigning.presigned_urls import PresignedUrls
from anabranch.catalog.presigning.presigning import Presigner
from anabranch.errors import NotSupported
from anabranch.model.secret import Secret

ADDRESS = "https://ours.blob.core.windows.net/lake/a"
SERVER = "https://lake.example.com"


def presigning(blocks):
    return Presigner(blocks, PresignedUrls(b"secret", lambda: 1000), lambda: 1000, 60)


def azure(*, pre_sign_support=True):
    key = Secret("c2VjcmV0")
    return azure_blocks(account="ours", access_key=key, pre_sign_support=pre_sign_support)


def test_urls_of_a_store_that_signs_are_those_of_the_store():
    urls = presigning(azure())
    for url in (urls.read_url(ADDRESS, SERVER), urls.store_url(ADDRESS, SERVER)):
        assert url.url.startswith(f"{ADDRESS}?")
        assert url.expires == 1060
    assert urls.direct_read_url(ADDRESS).startswith(f"{ADDRESS}?")
    part = urls.store_part_url(ADDRESS, "upload", 3, SERVER)
    assert part.url.startswith(f"{SERVER}/_signed/")


def test_urls_of_a_store_without_http_are_those_of_the_server():
    urls = presigning(MemoryBlocks(pre_signed=True))
    assert urls.read_url("mem://lake/a", SERVER).url.startswith(f"{SERVER}/_signed/")
    assert urls.direct_read_url("mem://lake/a") is None


@pytest.mark.parametrize("blocks", [azure(pre_sign_support=False), MemoryBlocks()])
def test_disabled_presigned_urls_raise_not_supported(blocks):
    urls = presigning(blocks)
    address = f"{blocks.config.blockstore_namespace_example}a"
    assert not urls.supported
    assert urls.direct_read_url(address) is None
    for refused in (
        lambda: urls.read_url(address, SERVER),
        lambda: urls.read_url(address, SERVER, "etag"),
        lambda: urls.store_url(address, SERVER),
    ):
        with pytest.raises(NotSupported) as caught:
            refused()
        assert caught.value.kind == "unsupported_by_store"
    with pytest.raises(NotSupported) as caught:
        urls.store_part_url(address, "upload", 1, SERVER)
    assert caught.value.kind == "presigned_parts_not_supported"
