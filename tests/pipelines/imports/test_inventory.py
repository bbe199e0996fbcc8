"""S3 Inventory: what it lists against a model of a bucket with versions, in every format."""

from __future__ import annotations

import gzip
import hashlib
import json
from datetime import UTC, datetime
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anabranch.errors import Corrupt, Denied, Invalid, NotFound
from anabranch.pipelines.imports.inventory import parsed
from anabranch.pipelines.imports.listing_sources import found_inventory, inventory_rows

WHEN = datetime(2024, 5, 6, 7, 8, 9, 123_000, UTC)
KEYS = st.text(st.sampled_from('ab/ +%é&\U0001f30a"\n,'), min_size=1, max_size=8)
FORMATS = ["CSV", "ORC", "Parquet"]
AVRO = (
    b'{"sourceBucket": "", "destinationBucket": "", "fileFormat": "Avro", "fileSchema": "", '
    b'"files": []}'
)


def column_names(kind, *, versions):
    names = ["Bucket", "Key"]
    names += ["VersionId", "IsLatest", "IsDeleteMarker"] if versions else []
    names += ["Size", "LastModifiedDate", "ETag", "StorageClass"]
    return names if kind == "CSV" else [lower(name) for name in names]


def lower(name):
    if name == "ETag":
        return "e_tag"
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)[1:]


TYPES = {"size": pa.int64(), "is_latest": pa.bool_(), "is_delete_marker": pa.bool_()}


def cells(kind, key, version, *, versions, encode):
    """Returns what an inventory says of a version of a key."""
    size, latest, deleted = version
    last = [True, False] if not versions else [latest, deleted]
    if kind == "CSV":
        flags = [str(flag).lower() for flag in last] if versions else []
        number = "" if deleted else str(size)
        when, etag = WHEN.isoformat(timespec="milliseconds").replace("+00:00", "Z"), f"etag-{size}"
        return ["lake", encode(key), *(["v", *flags] if versions else []), number, when, etag, "S"]
    flags = ["v", *last] if versions else []
    return ["lake", key, *flags, None if deleted else size, WHEN, f"etag-{size}", "S"]


def write(folder, kind, rows, *, versions, files=2, encode=quote_plus, **changes):
    """Writes an inventory as it lies in its bucket; returns the folder of its manifest."""
    names = column_names(kind, versions=versions)
    told = []
    for number in range(files):
        lines = [
            cells(kind, key, version, versions=versions, encode=encode)
            for key, version in rows[number::files]
        ]
        key = f"inventories/lake/all/data/{number}.{kind.lower()}"
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "CSV":
            text = "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
            path = path.with_suffix(".csv.gz")
            key += ".gz"
            path.write_bytes(gzip.compress(text.encode()))
        else:
            fields = [
                (
                    name,
                    TYPES.get(name, pa.timestamp("ms", "UTC") if "date" in name else pa.string()),
                )
                for name in names
            ]
            columns = list(zip(*lines, strict=True)) or [()] * len(names)
            table = pa.Table.from_arrays(
                [pa.array(column, kind) for column, (_, kind) in zip(columns, fields, strict=True)],
                schema=pa.schema(fields),
            )
            (pa_orc if kind == "ORC" else pq).write_table(table, path)
        md5 = hashlib.md5(path.read_bytes()).hexdigest()
        told.append({"key": key, "size": path.stat().st_size, "MD5checksum": md5})
    manifest = {
        "sourceBucket": "lake",
        "destinationBucket": "arn:aws:s3:::kept",
        "version": "2016-11-30",
        "creationTimestamp": "1514944800000",
        "fileFormat": kind,
        "fileSchema": ", ".join(names) if kind == "CSV" else "…",
        "files": told,
        **changes,
    }
    place = folder / "inventories/lake/all/2024-05-06T00-00Z"
    place.mkdir()
    (place / "manifest.json").write_text(json.dumps(manifest))
    return place


def listed(place, tmp_path, blocks=None, prefix=""):
    found = found_inventory(str(place), blocks)
    batches = inventory_rows(found, blocks, tmp_path, prefix=prefix)
    return pa.Table.from_batches(list(batches)).to_pylist()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("versions", [False, True])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
def test_it_lists_what_a_reader_of_the_bucket_sees(
    tmp_path_factory, kind, versions, keys, prefix, encode
):
    tmp_path = tmp_path_factory.mktemp("inventory")
    if not versions:
        keys = {key: [sizes[-1] or 0] for key, sizes in keys.items()}
    rows = [
        (key, (size, number == len(sizes) - 1, size is None))
        for key, sizes in keys.items()
        for number, size in enumerate(sizes)
    ]
    place = write(tmp_path, kind, rows, versions=versions, encode=encode)
    start = prefix.rfind("/") + 1
    expected = {
        key[start:]: (f"s3://lake/{key}", sizes[-1], f"etag-{sizes[-1]}", WHEN)
        for key, sizes in keys.items()
        if sizes[-1] is not None and key.startswith(prefix) and key[start:]
    }
    found = listed(place, tmp_path, prefix=prefix)
    assert len(found) == len(expected)
    assert {
        each["path"]: (
            each["physical_address"],
            each["size"],
            each["checksum"],
            each["last_modified"],
        )
        for each in found
    } == expected


def import_inventory(lake, place, **fields):
    return lake.import_listing("sea", "main", place, inventory=True, **fields)


def test_every_format_gives_one_tree(lake, outside):
    rows = [(f"day={n % 7}/part {n}", (n, True, False)) for n in range(100)]
    trees = set()
    for kind in FORMATS:
        made = import_inventory(lake, write(outside / kind, kind, rows, versions=True))
        assert made.objects == 100
        trees.add(made.commit.metarange_id)
    assert len(trees) == 1


def test_keys_that_cannot_be_decoded_are_left_out(lake, tmp_path):
    rows = [("a", (1, True, False)), ("b%zz", (1, True, False)), ("c%ff", (1, True, False))]
    place = write(tmp_path, "CSV", rows, versions=False, encode=str)
    with pytest.raises(Invalid, match="2 rows of the listing can be no objects: 2 with no path"):
        import_inventory(lake, place)
    made = import_inventory(lake, place, unfit="skip")
    assert (made.objects, made.skipped) == (1, {"no path": 2})


def test_a_copy_may_have_its_files_elsewhere(tmp_path):
    place = write(tmp_path / "there", "Parquet", [("a", (1, True, False))], versions=False, files=1)
    copied = tmp_path / "copied"
    copied.mkdir()
    (place.parent / "data/0.parquet").rename(copied / "0.parquet")
    with pytest.raises(NotFound, match="is not beside"):
        listed(place, tmp_path)
    (place / "manifest.json").rename(copied / "manifest.json")
    assert [each["path"] for each in listed(copied / "manifest.json", tmp_path)] == ["a"]


def test_a_file_that_is_not_the_manifests_is_named(tmp_path):
    place = write(tmp_path, "CSV", [("a", (1, True, False))], versions=False, files=1)
    file = place.parent / "data/0.csv.gz"
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(Corrupt, match=r"0\.csv\.gz: its MD5 is"):
        listed(place, tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"[]", "no manifest of an S3 Inventory"),
        (b"{", "no manifest of an S3 Inventory"),
        (b'{"sourceBucket": "a"}', "no manifest of an S3 Inventory"),
        (AVRO, "'Avro', which is not"),
    ],
)
def test_what_is_no_manifest(text, told):
    with pytest.raises(Invalid, match=told):
        parsed(text)


def test_an_inventory_needs_sizes_and_a_place(tmp_path):
    place = write(
        tmp_path,
        "CSV",
        [("a", (1, True, False))],
        versions=False,
        fileSchema="Bucket, Key, A, B, C, D",
    )
    with pytest.raises(Invalid, match="the inventory has no column size"):
        listed(place, tmp_path)
    with pytest.raises(NotFound):
        listed(tmp_path / "nowhere", tmp_path)
    with pytest.raises(Denied):
        listed("s3://kept/inventory", tmp_path)
