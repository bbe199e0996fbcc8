"""S3 Inventory: rows compared with a model of a bucket with versions, in every format."""

from __future__ import annotations

import uuid
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.inventories import FORMATS, WHEN, Version, write_inventory
from support.session.hypothesis_profiles import examples

from anabranch.errors import Corrupt, Denied, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.imports.listings.inventory import parse_manifest
from anabranch.pipelines.imports.listings.sources import find_inventory, inventory_rows

KEYS = st.text(st.sampled_from('ab/ +%é&\U0001f30a"\n,'), min_size=1, max_size=8)
AVRO = (
    b'{"sourceBucket": "", "destinationBucket": "", "fileFormat": "Avro", "fileSchema": "", '
    b'"files": []}'
)


def listed(place, tmp_path, blocks=None, prefix=""):
    inventory = find_inventory(str(place), blocks)
    batches = inventory_rows(inventory, blocks, tmp_path, prefix=prefix)
    return pa.Table.from_batches(list(batches)).to_pylist()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("versions", [False, True])
@settings(max_examples=examples(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    keys=st.dictionaries(
        KEYS,
        st.lists(st.none() | st.integers(0, 1 << 40), min_size=1, max_size=3),
        min_size=1,
        max_size=9,
    ),
    prefix=st.sampled_from(["", "a", "a/", "é", " "]),
    encode=st.sampled_from([quote_plus, quote]),
)
def test_rows_are_the_current_objects_of_the_bucket(
    tmp_path_factory, kind, versions, keys, prefix, encode
):
    tmp_path = tmp_path_factory.mktemp("inventory")
    if not versions:
        keys = {key: [sizes[-1] or 0] for key, sizes in keys.items()}
    rows = [
        Version(key, size, number == len(sizes) - 1)
        for key, sizes in keys.items()
        for number, size in enumerate(sizes)
    ]
    place = write_inventory(tmp_path, kind, rows, versions=versions, encode=encode)
    start = prefix.rfind("/") + 1
    expected = {
        key[start:]: (f"s3://lake/{key}", sizes[-1], f"etag-{sizes[-1]}", WHEN)
        for key, sizes in keys.items()
        if sizes[-1] is not None and key.startswith(prefix) and key[start:]
    }
    rows = listed(place, tmp_path, prefix=prefix)
    assert len(rows) == len(expected)
    assert {
        row["path"]: (
            row["physical_address"],
            row["size"],
            row["checksum"],
            row["last_modified"],
        )
        for row in rows
    } == expected


@pytest.fixture
def remote(emulated_s3, tmp_path):
    """A lake in a bucket."""
    name = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)
    with Lake(
        MemoryStore(), emulated_s3.blocks(), cache_folder=tmp_path / "c", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", f"s3://{name}/sea")
        yield lake


def import_inventory(lake, place, **fields):
    fields = {"verify": "none", **fields}
    return lake.import_listing("sea", "main", place, inventory=True, **fields)


def test_all_formats_give_the_same_tree(remote, import_folder):
    rows = [Version(f"day={n % 7}/part {n}", n) for n in range(100)]
    trees = set()
    for kind in FORMATS:
        inventory = write_inventory(import_folder / kind, kind, rows, versions=True)
        imported = import_inventory(remote, inventory)
        assert imported.objects == 100
        trees.add(imported.commit.metarange_id)
    assert len(trees) == 1


def test_keys_that_cannot_be_decoded_are_invalid_rows(remote, tmp_path):
    rows = [Version("a", 1), Version("b%zz", 1), Version("c%ff", 1)]
    place = write_inventory(tmp_path, "CSV", rows, encode=str)
    with pytest.raises(Invalid, match="2 rows of the listing are invalid: 2 with no path"):
        import_inventory(remote, place)
    imported = import_inventory(remote, place, on_invalid="skip")
    assert (imported.objects, imported.skipped) == (1, {"no path": 2})


def test_inventory_of_another_store_raises_invalid(lake, tmp_path):
    place = write_inventory(tmp_path, "CSV", [Version("a", 1), Version("b", 1)])
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match="2 with an address of another store"):
        import_inventory(lake, place)
    assert lake.branches.get("sea", "main") == before


def test_copied_inventory_can_have_all_files_in_one_folder(tmp_path):
    place = write_inventory(tmp_path / "original", "Parquet", [Version("a", 1)], files=1)
    copied = tmp_path / "copied"
    copied.mkdir()
    (place.parent / "data/0.parquet").rename(copied / "0.parquet")
    with pytest.raises(NotFound, match="was not found near"):
        listed(place, tmp_path)
    (place / "manifest.json").rename(copied / "manifest.json")
    assert [row["path"] for row in listed(copied / "manifest.json", tmp_path)] == ["a"]


def test_file_with_another_md5_than_in_the_manifest_raises_corrupt(tmp_path):
    place = write_inventory(tmp_path, "CSV", [Version("a", 1)], files=1)
    file = place.parent / "data/0.csv.gz"
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(Corrupt, match=r"0\.csv\.gz: its MD5 is"):
        listed(place, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[]", "not a manifest of an S3 Inventory"),
        (b"{", "not a manifest of an S3 Inventory"),
        (b'{"sourceBucket": "a"}', "not a manifest of an S3 Inventory"),
        (AVRO, "'Avro', not CSV"),
    ],
)
def test_invalid_manifest_raises_invalid(text, message):
    with pytest.raises(Invalid, match=message):
        parse_manifest(text)


def test_inventory_without_sizes_or_at_a_wrong_place_raises(tmp_path):
    place = write_inventory(
        tmp_path,
        "CSV",
        [Version("a", 1)],
        fileSchema="Bucket, Key, A, B, C, D",
    )
    with pytest.raises(Invalid, match="the inventory has no column size"):
        listed(place, tmp_path)
    with pytest.raises(NotFound):
        listed(tmp_path / "nowhere", tmp_path)
    with pytest.raises(Denied):
        listed("s3://kept/inventory", tmp_path)
