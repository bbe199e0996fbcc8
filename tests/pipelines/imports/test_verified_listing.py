"""Rows of listings compared with the store: a sample of them, all, or none."""

from __future__ import annotations

import hashlib
import uuid

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from anabranch.errors import Busy, Invalid
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.pipelines.imports.listings.row_sample import SAMPLE_ROWS, RowSample, smallest
from anabranch.testing.stores import FaultyBlocks

NOT_STORED = "an object that is not stored"
OTHER_SIZE = "a size that is not the object's"
OTHER_ETAG = "an ETag that is not the object's"


def md5(text):
    return hashlib.md5(text).hexdigest()


def table(*rows):
    names = ("path", "physical_address", "size", "checksum")
    return pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))


def head(lake):
    return lake.branches.get("sea", "main")


def reasons(path):
    return {row["path"]: row["reason"] for row in pa_csv.read_csv(path).to_pylist()}


@pytest.fixture
def remote(emulated_s3, tmp_path):
    """A lake in a bucket, and its address."""
    name = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)
    with Lake(
        MemoryStore(), emulated_s3.blocks(), cache_folder=tmp_path / "c", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", f"s3://{name}/sea")
        yield lake, f"s3://{name}"


def test_rows_are_compared_with_local_files(lake, import_folder, tmp_path):
    (import_folder / "a").write_bytes(b"12")
    (import_folder / "folder").mkdir()
    (import_folder / "link").symlink_to(import_folder / "a")
    lake.blocks.put("local://raw/b", [b"123"])
    rows = table(
        ("a", f"local://{import_folder}/a", 2, "not compared"),
        ("b", "local://raw/b", 3, None),
        ("folder", f"local://{import_folder}/folder", 0, ""),
        ("gone", "local://raw/gone", 3, None),
        ("link", f"local://{import_folder}/link", 2, None),
        ("longer", f"local://{import_folder}/a", 3, None),
    )
    before = head(lake)
    with pytest.raises(Invalid, match="4 of 6 rows that were looked up") as caught:
        lake.import_listing("sea", "main", rows)
    assert caught.value.kind == "unverified_rows"
    assert "'longer' (local://" in caught.value.message
    assert "is 2 bytes, the listing says 3" in caught.value.message
    assert "--verify all" in caught.value.hint
    with pytest.raises(Invalid, match="4 rows of the listing are invalid") as caught:
        lake.import_listing("sea", "main", rows, verify="all")
    assert caught.value.kind == "unfit_rows"
    assert head(lake) == before
    rejected = tmp_path / "rejected.csv"
    imported = lake.import_listing(
        "sea", "main", rows, verify="all", on_invalid="skip", rejected_rows=rejected
    )
    assert (imported.objects, imported.skipped) == (2, {NOT_STORED: 3, OTHER_SIZE: 1})
    assert reasons(rejected) == {
        "folder": "not stored",
        "gone": "not stored",
        "link": "not stored",
        "longer": "is 2 bytes, the listing says 3",
    }
    assert lake.import_listing("sea", "main", rows, verify="none").objects == 6
    with pytest.raises(Invalid, match="not 'none', 'sample' or 'all'"):
        lake.import_listing("sea", "main", rows, verify="some")


def test_rows_are_compared_with_objects_of_a_bucket(remote, tmp_path):
    lake, root = remote
    for key, text in (("a", b"12"), ("odd//./name", b"3"), ("\u00e9", b"")):
        lake.blocks.put(f"{root}/raw/{key}", [text])
    parts = f"{md5(b'12')}-2"
    rows = table(
        ("a", f"{root}/raw/a", 2, f'"{md5(b"12")}"'),
        ("another form", f"{root}/raw/a", 2, "0x8DC0FFEE"),
        ("as parts", f"{root}/raw/a", 2, parts),
        ("gone", f"{root}/raw/gone", 2, None),
        ("longer", f"{root}/raw/a", 3, md5(b"12")),
        ("no bucket", f"s3://bucket-{uuid.uuid4()}/a", 2, None),
        ("nothing", f"{root}/raw/\u00e9", 0, md5(b"").upper()),
        ("odd", f"{root}/raw/odd//./name", 1, ""),
        ("other", f"{root}/raw/a", 2, md5(b"34")),
    )
    with pytest.raises(Invalid, match="5 of 9 rows"):
        lake.import_listing("sea", "main", rows)
    rejected = tmp_path / "rejected.csv"
    imported = lake.import_listing(
        "sea", "main", rows, verify="all", on_invalid="skip", rejected_rows=rejected
    )
    assert imported.objects == 4
    assert imported.skipped == {NOT_STORED: 2, OTHER_SIZE: 1, OTHER_ETAG: 2}
    etag = md5(b"12")
    assert reasons(rejected) == {
        "as parts": f"has ETag {etag}, the listing says {parts}",
        "gone": "not stored",
        "longer": "is 2 bytes, the listing says 3",
        "no bucket": "not stored",
        "other": f"has ETag {etag}, the listing says {md5(b'34')}",
    }
    assert imported.shown == sorted(reasons(rejected).items())


def test_unavailable_store_fails_the_import(lake):
    rows = table(*((f"{n:04}", f"local://raw/{n}", 1, None) for n in range(500)))
    for number in range(500):
        lake.blocks.put(f"local://raw/{number}", [b"1"])

    def before(step, address):
        if step == "stat" and address == "local://raw/321":
            raise Busy("the store is full", kind="storage_failed")

    before_head, blocks = head(lake), lake.blocks
    lake.blocks = FaultyBlocks(blocks, before)
    for verify in ("sample", "all"):
        with pytest.raises(Busy, match="the store is full"):
            lake.import_listing("sea", "main", rows, verify=verify, on_invalid="skip")
    assert head(lake) == before_head
    lake.blocks = blocks
    assert lake.import_listing("sea", "main", rows, verify="all").objects == 500


def test_sample_of_a_large_listing_is_limited_and_verify_all_is_not(lake):
    """1,000 of 3,000 rows are looked up."""
    requests = []
    blocks, lake.blocks = (
        lake.blocks,
        FaultyBlocks(lake.blocks, lambda *step: requests.append(step)),
    )
    rows = [(f"{n:05}", "local://raw/a", 1, None) for n in range(3_000)]
    blocks.put("local://raw/a", [b"1"])
    for order in (1, -1):
        requests.clear()
        assert lake.import_listing("sea", "main", table(*rows[::order])).objects == 3_000
        assert [step for step, _ in requests].count("stat") == SAMPLE_ROWS
    requests.clear()
    lake.import_listing("sea", "main", table(*rows), verify="all")
    assert [step for step, _ in requests].count("stat") == 3_000
    requests.clear()
    lake.import_listing("sea", "main", table(*rows), verify="none")
    assert "stat" not in [step for step, _ in requests]


def test_merged_samples_of_partitions_equal_the_sample_of_the_listing():
    paths = [f"day={n % 40}/{n:06}" for n in range(20_000)]
    whole = table(*((path, "x", 1, None) for path in paths)).combine_chunks()
    whole = whole.cast(pa.schema([*list(whole.schema)[:3], pa.field("checksum", pa.string())]))
    samples = []
    for size in (20_000, 777, 5_000):
        parts = [RowSample() for _ in range(3)]
        for number, batch in enumerate(whole.to_batches(max_chunksize=size)):
            assert list(parts[number % 3].sample_batches([batch])) == [batch]
        merged = smallest(pa.concat_tables([part.rows() for part in parts]))
        samples.append(merged["path"].to_pylist())
    assert samples[0] == samples[1] == samples[2]
    assert len(set(samples[0])) == SAMPLE_ROWS
    days = {path.partition("/")[0] for path in samples[0]}
    assert len(days) == 40
    assert sum(path < "day=2" for path in samples[0]) in range(200, 400)
    few = RowSample()
    list(few.sample_batches(whole.slice(0, 5).to_batches()))
    assert sorted(few.rows()["path"].to_pylist()) == sorted(paths[:5])
