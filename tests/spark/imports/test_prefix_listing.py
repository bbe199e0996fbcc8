"""Listings of folders by tasks: their import equals the server's import of the prefix."""

from __future__ import annotations

import os
import time

import pytest

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Denied, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake, open_lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def import_folder(tmp_path):
    folder = tmp_path / "outside"
    for number in range(70):
        path = folder / f"day={number % 7}" / f"{number}.csv" if number else folder / "top"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * number)
        os.utime(path, ns=(0, 1_700_000_000_123_456_000 + number * 1_000))
    return folder


@pytest.fixture
def lake(tmp_path, import_folder):
    blocks = LocalBlocks(
        tmp_path / "blocks", import_enabled=True, external_prefixes=[str(import_folder)]
    )
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "other", "main")
        yield lake


def test_imported_tree_equals_that_of_the_server(spark, lake, import_folder):
    prefix = f"local://{import_folder}/"
    listing = anabranch.spark.prefix_listing(spark, lake, prefix, min_tasks=8)
    imported = anabranch.spark.import_listing(lake, "sea", "main", listing, destination="x")
    assert imported.objects == 70
    source = ImportSource(type="common_prefix", path=prefix, destination="x")
    request = ImportRequest(branch="other", sources=[source], committer="tester")
    import_id = lake.imports.start("sea", request)
    deadline = time.monotonic() + 60
    while not (status := lake.imports.status("sea", "main", import_id)).ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert status.metarange_id == imported.commit.metarange_id


@pytest.mark.slow  # tests/pipelines/imports
def test_name_that_is_not_utf8_is_a_row_without_a_path(spark, lake, import_folder):
    (import_folder / os.fsdecode(b"bad\xff")).write_bytes(b"")
    listing = anabranch.spark.prefix_listing(spark, lake, f"local://{import_folder}/", min_tasks=8)
    with pytest.raises(Invalid, match=r"1 row of the listing is invalid: 1 with no path"):
        anabranch.spark.import_listing(lake, "sea", "main", listing)


def test_unreadable_prefix_raises_an_error(spark, lake, import_folder, tmp_path):
    with pytest.raises(NotFound):
        anabranch.spark.prefix_listing(spark, lake, f"local://{import_folder}/nowhere/")
    with pytest.raises(Denied):
        anabranch.spark.prefix_listing(spark, lake, f"local://{tmp_path}/")
    with open_lake(tmp_path / "other") as other, pytest.raises(Denied):
        anabranch.spark.prefix_listing(spark, other, f"local://{import_folder}/")
