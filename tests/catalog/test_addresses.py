"""Physical addresses have one spelling in all responses."""

from __future__ import annotations

import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import AnabranchError, Denied
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake


@pytest.fixture
def outside(tmp_path):
    """A folder outside of the store that imports may read."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"tea")
    return folder


@pytest.fixture
def lake(tmp_path, outside):
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=[str(outside)])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


def stage(lake, address, path="a"):
    return lake.staging.stage("sea", "main", path, address=address, checksum="c", size=3)


def test_a_file_below_an_allowed_prefix_is_staged_and_read(lake, outside):
    address = f"local://{outside}/a.txt"
    assert stage(lake, address).physical_address == address
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"tea"
    assert lake.staging.is_source(address)


@pytest.mark.parametrize(
    "tail", ["", "/", "/folder/", "/../blocks/x", "//a.txt", "/./a.txt", "-2/a.txt"]
)
def test_no_other_address_outside_is_staged(lake, outside, tail):
    with pytest.raises(Denied, match="forbidden"):
        stage(lake, f"local://{outside}{tail}")
    assert not lake.staging.is_source(f"local://{outside}{tail}")


def test_a_link_below_an_allowed_prefix_is_not_followed(lake, outside, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    (outside / "link").symlink_to(tmp_path / "secret")
    stage(lake, f"local://{outside}/link")
    with pytest.raises(AnabranchError, match="symbolic links"):
        lake.objects.open("sea", "main", "a").read_bytes()


def test_the_stores_own_addresses_are_no_sources(tmp_path):
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=[str(tmp_path)])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        assert not lake.staging.is_source(blocks.qualify("local://sea/data/x"))
        assert lake.staging.is_source(f"local://{tmp_path}/x")
