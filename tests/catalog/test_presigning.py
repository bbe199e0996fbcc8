"""Which URLs clients are given: the store's own, or the server's."""

from __future__ import annotations

from anabranch.blocks.azure_store import azure_blocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.block_urls import BlockUrls
from anabranch.catalog.presigning import Presigning
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
    urls = presigning(MemoryBlocks())
    assert urls.read("mem://lake/a", SERVER).url.startswith(f"{SERVER}/_signed/")
    assert urls.direct("mem://lake/a") is None


def test_where_they_are_switched_off_nobody_is_sent_to_the_store():
    assert presigning(azure(pre_sign_support=False)).direct(ADDRESS) is None
