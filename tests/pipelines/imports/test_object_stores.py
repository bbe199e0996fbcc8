"""Imports of prefixes, objects and inventories from object stores."""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.formats.inventories import FORMATS, Version, write_inventory
from support.services.azure_emulator import EmulatedAzure
from support.services.s3_emulator import EmulatedS3
from support.services.s3_service import S3Service

from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest

KEYS = ["raw/a.csv", "raw/a-b", "raw/a/b", "raw/ä", "raw/z/deep/er", "rawer", "single"]


def new_bucket(service: S3Service) -> str:
    name = f"bucket-{uuid.uuid4()}"
    service.make_bucket(name)
    return name


@pytest.fixture
def s3_place(s3: S3Service):
    return s3.blocks(), f"s3://{new_bucket(s3)}"


@pytest.fixture
def gcs_place(emulated_s3: EmulatedS3):
    return emulated_s3.gcs_blocks(), f"gs://{new_bucket(emulated_s3)}"


@pytest.fixture
def azure_place(azure: EmulatedAzure):
    name = f"container-{uuid.uuid4()}"
    azure.make_container(name)
    return azure.blocks(), f"{azure.root}/{name}"


@pytest.fixture(params=["s3_place", "gcs_place", "azure_place"])
def place(request: pytest.FixtureRequest, tmp_path) -> Iterator[tuple[Lake, str]]:
    """A lake with the repository `sea`, and the address of its bucket."""
    blocks, root = request.getfixturevalue(request.param)
    for key in KEYS:
        blocks.put(f"{root}/{key}", [key.encode()])
    with Lake(MemoryStore(), blocks, cache_folder=tmp_path, signing_secret=b"secret") as lake:
        lake.repositories.create("sea", f"{root}/lake/sea")
        yield lake, root


def run(lake: Lake, *sources: ImportSource, repository: str = "sea"):
    request = ImportRequest(branch="main", sources=sources, committer="tester")
    import_id = lake.imports.start(repository, request)
    deadline = time.monotonic() + 60
    while not (status := lake.imports.status(repository, "main", import_id)).ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return status


def prefix(path: str, destination: str) -> ImportSource:
    return ImportSource(type="common_prefix", path=path, destination=destination)


def read(lake: Lake, path: str) -> bytes:
    return b"".join(lake.objects.open("sea", "main", path).chunks())


def test_objects_of_a_bucket_are_imported(place):
    lake, root = place
    single = ImportSource(type="object", path=f"{root}/single", destination="one")
    status = run(lake, prefix(f"{root}/raw/", "x"), single)
    assert (status.error, status.progress) == ("", 6)
    for key in KEYS[:5]:
        path = f"x/{key.removeprefix('raw/')}"
        assert read(lake, path) == key.encode()
        opened = lake.objects.open("sea", "main", path)
        assert opened.physical_address == f"{root}/{key}"
    assert read(lake, "one") == b"single"
    again = run(lake, prefix(f"{root}/raw", ""))
    assert again.progress == 6
    assert read(lake, "rawer") == b"rawer"
    assert again.commit.parents == (status.commit.id,)


def test_missing_source_leaves_the_branch_unchanged(place):
    lake, root = place
    before = lake.branches.get("sea", "main")
    assert "nothing to import" in run(lake, prefix(f"{root}/nowhere/", "x")).error
    single = ImportSource(type="object", path=f"{root}/nowhere", destination="one")
    assert "no such object" in run(lake, single).error
    assert lake.branches.get("sea", "main") == before


def test_listing_in_another_order_gives_the_same_tree(s3_place, tmp_path):
    blocks, root = s3_place
    for number in range(300):
        blocks.put(f"{root}/raw/{number}", [b"x"])
    sources = blocks.sources

    class Backwards:
        """Lists in reverse. S3's directory buckets and Azure's hierarchical namespaces do not list
        in key order.
        """

        check, find, owns = sources.check, sources.find, sources.owns

        def list(self, prefix):
            return reversed(list(sources.list(prefix)))

    with Lake(MemoryStore(), blocks, cache_folder=tmp_path, signing_secret=b"secret") as lake:
        trees = []
        for name, listed_sources in (("sea", sources), ("lake", Backwards())):
            lake.repositories.create(name, f"{root}/lake/{name}")
            blocks.sources = listed_sources
            status = run(lake, prefix(f"{root}/raw/", "x"), repository=name)
            assert (status.error, status.progress) == ("", 300)
            trees.append(status.metarange_id)
    assert trees[0] == trees[1]


@pytest.mark.parametrize("kind", FORMATS)
def test_inventory_can_be_read_from_a_bucket(s3_place, tmp_path, kind):
    blocks, root = s3_place
    rows = [Version(f"raw/a {n}", n) for n in range(20)]  # of a bucket that does not exist
    write_inventory(tmp_path, kind, rows)
    for file in tmp_path.rglob("*.*"):
        if file.is_file():
            blocks.put(f"{root}/{file.relative_to(tmp_path)}", [file.read_bytes()])
    place = f"{root}/inventories/lake/all/2024-05-06T00-00Z/"
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", f"{root}/lake/sea")
        imported = lake.import_listing(
            "sea", "main", place, inventory=True, prefix="raw/", verify="none"
        )
        assert imported.objects == 20
        assert lake.objects.stat("sea", "main", "a 7").physical_address == "s3://lake/raw/a 7"
        if kind == "Parquet":
            listing = f"{root}/rows/l.parquet"
            blocks.put(listing, [one_row(f"{root}/raw/x")])
            blocks.put(f"{root}/raw/x", [b"x"])
            assert lake.import_listing("sea", "main", f"{root}/rows/").objects == 1


def one_row(address: str) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"path": ["x"], "physical_address": [address], "size": [1]}), file)
    return file.getvalue()
