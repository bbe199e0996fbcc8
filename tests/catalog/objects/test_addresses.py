"""Physical addresses have one spelling in all responses."""

from __future__ import annotations

import pytest

from anabranch.blocks.admitted_addresses import is_source
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AnabranchError, Denied, Invalid
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake


@pytest.fixture
def import_folder(tmp_path):
    """A folder outside of the store that imports may read."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"abc")
    return folder


@pytest.fixture
def lake(tmp_path, import_folder):
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=[str(import_folder)])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


def stage(lake, address, path="a"):
    return lake.staging.stage("sea", "main", path, address=address, checksum="c", size=3)


def test_a_file_below_an_allowed_prefix_is_staged_and_read(lake, import_folder):
    address = f"local://{import_folder}/a.txt"
    assert stage(lake, address).physical_address == address
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"abc"
    assert lake.staging.stage_sources("sea", "main", "a", address) == [address]


@pytest.mark.parametrize(
    "tail", ["", "/", "/folder/", "/../blocks/x", "//a.txt", "/./a.txt", "-2/a.txt"]
)
def test_no_other_address_outside_is_staged(lake, import_folder, tail):
    with pytest.raises(Denied, match="forbidden"):
        stage(lake, f"local://{import_folder}{tail}")
    assert lake.staging.stage_sources("sea", "main", "a", f"local://{import_folder}{tail}") == []


def test_a_link_below_an_allowed_prefix_is_not_followed(lake, import_folder, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (import_folder / "link").symlink_to(tmp_path / "secret")
    stage(lake, f"local://{import_folder}/link")
    with pytest.raises(AnabranchError, match="symbolic links"):
        lake.objects.open("sea", "main", "a").read_bytes()


def test_the_stores_own_addresses_are_no_external_sources(tmp_path):
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=[str(tmp_path)])
    assert not is_source(blocks, blocks.qualify("local://sea/data/x"))
    assert is_source(blocks, f"local://{tmp_path}/x")


@pytest.mark.parametrize(
    "address", ["local://sea/_lakefs/x", "local://sea/_LakeFS/x", "local://sea/a/_lakefs/b/x"]
)
@pytest.mark.parametrize("qualified", [False, True])
def test_the_address_of_a_table_is_never_an_objects(lake, address, qualified):
    named = lake.blocks.qualify(address) if qualified else address
    with pytest.raises(Denied, match="forbidden"):
        stage(lake, named)
    with pytest.raises(Invalid) as caught:
        lake.staging.link("sea", "main", "a", address=named, checksum="c", size=3)
    assert caught.value.kind == "table_address"
    with pytest.raises(Denied, match="forbidden"):
        lake.staging.object_at("sea", "main", "a", named, {})


def test_a_store_address_needs_to_be_importable_in_each_spelling(lake):
    stored, qualified = "local://deep/data/x", lake.blocks.qualify("local://deep/data/x")
    for address in (stored, qualified):
        for sources in (lake.staging.stage_sources, lake.staging.link_sources):
            assert sources("sea", "main", "a", address) == [stored, qualified]


def test_only_a_token_of_the_path_replaces_the_permission_to_import(lake):
    address = lake.staging.new_address("sea", "main", "a")
    unsigned = address.rpartition(",")[0]
    assert lake.staging.stage_sources("sea", "main", "a", address) == []
    assert lake.staging.link_sources("sea", "main", "a", address) == []
    for branch, path, named in (
        ("main", "b", address),
        ("x", "a", address),
        ("main", "a", address[:-1]),
        ("main", "a", unsigned),
        ("main", "a", f"{unsigned},"),
    ):
        assert lake.staging.stage_sources("sea", branch, path, named)
        with pytest.raises(Invalid, match="link address invalid"):
            lake.staging.link_sources("sea", branch, path, named)
    lake.repositories.create("other", "local://other")
    assert lake.staging.stage_sources("other", "main", "a", address)
    assert lake.staging.link_sources("other", "main", "a", address)
