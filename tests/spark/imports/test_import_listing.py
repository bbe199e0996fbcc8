"""Imports of listings: trees equal those of a single writer, and invalid rows are reported."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.recorded.recorded_trees import RECORDINGS, load_trees

import anabranch.spark
from anabranch import _kernel as kernel
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import DirtyBranch, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.objects.entry import AddressType, Entry
from anabranch.pipelines.imports.listings.columns import to_listed
from anabranch.pipelines.imports.listings.row_validation import WRITTEN, RowValidator
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.jobs.imports import _sort

pytestmark = pytest.mark.timeout(600)

SCHEMA = (
    "path STRING, physical_address STRING, size BIGINT, checksum STRING, last_modified TIMESTAMP, "
    "metadata MAP<STRING, STRING>, content_type STRING"
)


def address_of(path):
    """Returns an address of the store for a path, or for None."""
    return f"local://raw/{hashlib.md5((path or '').encode()).hexdigest()}"


def row(path, size=1, address=None, day=1, **metadata):
    when = datetime(2024, 1, day, 3, 4, 5, 678_901, UTC)
    return (path, address or address_of(path), size, f"etag-{size}", when, metadata, "a/b")


def entry_of(row):
    _, address, size, checksum, when, metadata, content_type = row
    return Entry(
        address=address,
        address_type=int(AddressType.FULL),
        size=size,
        mtime=int(when.timestamp()),
        mtime_nanos=when.microsecond * 1000,
        checksum=checksum,
        metadata=metadata,
        content_type=content_type,
    )


def staged_tree(lake, rows):
    """Stages the same objects on another branch and commits them. Returns the tree."""
    repository = lake.core.repositories.get("sea")
    root = lake.branches.get("sea", "empty").commit_id
    if lake.core.branches.find(repository, "staged") is not None:
        lake.branches.delete("sea", "staged")
    lake.branches.create("sea", "staged", root)
    for each in rows:
        lake.core.changes.put(repository, "staged", each[0], entry_of(each))
    return lake.commits.commit(
        "sea", "staged", message="m", committer="c", allow_empty=True
    ).metarange_id


def import_unverified(*listing, **fields):
    """Imports a listing without comparing it with the store."""
    return anabranch.spark.import_listing(*listing, **{"verify": "none", **fields})


@pytest.fixture
def lake(lake):
    lake.branches.create("sea", "empty", "main")
    return lake


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.dictionaries(
        st.text(st.sampled_from("ab/é\U0001f30a\x01"), min_size=1),
        st.integers(0, 1 << 40),
        min_size=1,
        max_size=40,
    ),
    tasks=st.integers(1, 4),
    order=st.randoms(use_true_random=False),
)
def test_tree_equals_that_of_staging(spark, lake, sizes, tasks, order):
    rows = [row(path, size, tag=str(size)) for path, size in sizes.items()]
    order.shuffle(rows)
    listing = spark.createDataFrame(rows, SCHEMA).repartition(tasks)
    result = import_unverified(lake, "sea", "main", listing, committer="spark")
    assert result.objects == len(rows)
    assert result.commit.metarange_id == staged_tree(lake, rows)
    assert lake.commits.get("sea", "main") == result.commit


@pytest.mark.slow  # tests/pipelines/imports
def test_import_replaces_objects_under_the_destination(spark, lake):
    old = [row(path) for path in ("x/old", "x0", "w")]
    first = spark.createDataFrame(old, SCHEMA)
    import_unverified(lake, "sea", "main", first, message="first")
    new = [row("a", address="local://b/a"), row("b/c", address="local://b/c")]
    result = import_unverified(
        lake,
        "sea",
        "main",
        spark.createDataFrame(new, SCHEMA),
        destination="x",
        message="second",
        metadata={"k": "v"},
        committer="me",
    )
    assert (result.commit.message, result.commit.committer) == ("second", "me")
    assert result.commit.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    expected = [*old[1:], *(("x/" + each[0], *each[1:]) for each in new)]
    assert result.commit.metarange_id == staged_tree(lake, expected)
    table = anabranch.spark.objects(spark, lake, "sea", "main")
    assert [stat.path for stat in table.orderBy("path").collect()] == ["w", "x/a", "x/b/c", "x0"]


def test_three_columns_are_required(spark, lake):
    listing = spark.createDataFrame(
        [("a", "local://b/a", 5)], "path STRING, physical_address STRING, size INT"
    )
    result = import_unverified(lake, "sea", "main", listing)
    expected = ("a", "local://b/a", 5, "", datetime(1970, 1, 1, tzinfo=UTC), {}, "")
    assert result.commit.metarange_id == staged_tree(lake, [expected])
    with pytest.raises(Invalid, match="no column physical_address, size"):
        import_unverified(lake, "sea", "main", listing.select("path"))


@pytest.mark.slow
def test_metadata_can_be_maps_or_json(spark, lake):
    rows = [row("a", one="1", two="zwei \N{SNOWMAN}"), row("b"), row("c", empty=None)]
    listing = spark.createDataFrame([*rows, (*row("d")[:5], None, "a/b")], SCHEMA)
    expected = [*rows[:2], row("c", empty=""), row("d")]
    others = [name for name in listing.columns if name != "metadata"]
    as_text = listing.where("path != 'c'").selectExpr(*others, "to_json(metadata) AS Metadata")
    for each, objects in ((listing, expected), (as_text, [*expected[:2], expected[3]])):
        result = import_unverified(lake, "sea", "main", each)
        assert result.commit.metarange_id == staged_tree(lake, objects)
    with pytest.raises(Exception, match="not a JSON object of strings"):  # Spark's, or Connect's
        import_unverified(lake, "sea", "main", listing.selectExpr(*others, "'[1]' AS metadata"))


def test_invalid_rows_fail_the_import_or_are_skipped(spark, lake, tmp_path):
    good = [row("a"), row("b", day=9), row("z")]
    bad = [
        row("b", address="local://raw/old", day=8),
        row("b", address="local://raw/older", day=7),
        row(None),
        row(""),
        row("ä" * 513),
        row("negative", -1),
        row("no size", None),
        ("no address", None, 1, "", None, None, None),
    ]
    listing = spark.createDataFrame(good + bad, SCHEMA).repartition(3)
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match="8 rows of the listing are invalid") as caught:
        import_unverified(
            lake, "sea", "main", listing, rejected_rows=tmp_path / "rejected-out.parquet"
        )
    rejected = pq.read_table(tmp_path / "rejected-out.parquet")
    assert sorted(rejected["size"].to_pylist(), key=str) == [-1, 1, 1, 1, 1, 1, 1, None]
    assert Counter(rejected["reason"].to_pylist())["no path"] == 2
    assert "2 with a repeated path" in caught.value.message
    assert "'negative': a negative size" in caught.value.message
    assert lake.branches.get("sea", "main") == before
    result = import_unverified(lake, "sea", "main", listing, on_invalid="skip")
    assert result.skipped == {
        "a repeated path": 2,
        "no path": 2,
        "a path of over 1024 bytes": 1,
        "a negative size": 1,
        "no size": 1,
        "no physical address": 1,
    }
    assert ("negative", "a negative size") in result.shown
    assert result.commit.metarange_id == staged_tree(lake, good)


def test_rows_with_forbidden_addresses_are_skipped(spark, lake, tmp_path):
    lake.blocks.put("local://raw/a", [b"1"])
    address = lake.blocks.qualify("local://raw/a")
    rows = [row("a", address=address), row("b", address="s3://other/bucket")]
    rows += [row("c", address="local:///etc/passwd"), row("d", address="local://raw/../x")]
    listing = spark.createDataFrame(rows, SCHEMA).repartition(2)
    with pytest.raises(Invalid, match="1 with an address of another store"):
        anabranch.spark.import_listing(lake, "sea", "main", listing)
    rejected = tmp_path / "rejected.csv"
    result = anabranch.spark.import_listing(
        lake,
        "sea",
        "main",
        listing.drop("checksum"),
        on_invalid="skip",
        rejected_rows=rejected,
    )
    assert (result.objects, sum(result.skipped.values())) == (1, 3)
    reasons = {each["path"]: each["reason"] for each in pa_csv.read_csv(rejected).to_pylist()}
    assert reasons == {
        "b": "an address of another store",
        "c": "an address outside the folders that imports may read",
        "d": "an address that no object of the store can have",
    }
    assert lake.objects.stat("sea", "main", "a").entry.address == "local://raw/a"


@pytest.mark.slow
def test_rows_are_compared_with_the_store(spark, lake, tmp_path):
    for name in ("a", "b"):
        lake.blocks.put(f"local://raw/{name}", [b"12"])
    rows = [row("a", 2, "local://raw/a"), row("b", 1, "local://raw/b")]
    listing = spark.createDataFrame([*rows, row("c", 2, "local://raw/c")], SCHEMA).repartition(3)
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match="2 of 3 rows that were looked up") as caught:
        anabranch.spark.import_listing(lake, "sea", "main", listing, on_invalid="skip")
    assert caught.value.kind == "unverified_rows"
    assert "'b' (local://raw/b): is 2 bytes, the listing says 1" in caught.value.message
    assert lake.branches.get("sea", "main") == before
    rejected = tmp_path / "rejected.parquet"
    result = anabranch.spark.import_listing(
        *(lake, "sea", "main", listing), verify="all", on_invalid="skip", rejected_rows=rejected
    )
    assert result.objects == 1
    assert result.skipped == {
        "a size that is not the object's": 1,
        "an object that is not stored": 1,
    }
    reasons = {each["path"]: each["reason"] for each in pq.read_table(rejected).to_pylist()}
    assert reasons == {"b": "is 2 bytes, the listing says 1", "c": "not stored"}
    good = listing.where("path = 'a'")
    assert anabranch.spark.import_listing(lake, "sea", "main", good).objects == 1
    result = anabranch.spark.import_listing(lake, "sea", "main", listing, verify="none")
    assert result.objects == 3


def test_empty_listing_and_dirty_branch_are_refused(spark, lake):
    listing = spark.createDataFrame([row("a")], SCHEMA)
    with pytest.raises(NotFound, match="the listing has no objects"):
        import_unverified(lake, "sea", "main", listing.where("size < 0"))
    lake.core.changes.put(
        lake.core.repositories.get("sea"), "main", "staged", entry_of(row("staged"))
    )
    with pytest.raises(DirtyBranch):
        import_unverified(lake, "sea", "main", listing)
    with pytest.raises(Invalid, match="neither 'fail' nor 'skip'"):
        import_unverified(lake, "sea", "empty", listing, on_invalid="ignore")


@pytest.fixture
def importing(tmp_path):
    """A lake with the repository `sea`, which may import from the recordings' source folders."""
    blocks = LocalBlocks(tmp_path / "blocks", external_prefixes=["/source", "/tmp/source"])
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


@pytest.mark.parametrize("name", RECORDINGS)
def test_tree_equals_that_of_a_lakefs_commit(spark, importing, name):
    """The tree has the same entries and range boundaries as that of lakeFS 1.84 for the same
    objects. Ids may differ, because lakeFS writes the keys of metadata in random order.
    """
    recorded = load_trees(name)
    rows = [
        (
            *(each[field] for field in ("path", "physical_address", "size_bytes", "checksum")),
            datetime.fromtimestamp(each["mtime"], UTC),
            *(each[field] for field in ("metadata", "content_type")),
        )
        for each in recorded.objects("first").values()
    ]
    listing = spark.createDataFrame(rows, SCHEMA)
    result = import_unverified(importing, "sea", "main", listing.repartition(3))
    assert result.objects == len(rows)
    repository = importing.core.repositories.get("sea")
    ours = importing.core.trees.open(repository, result.commit.metarange_id)
    theirs = recorded.tree("first")
    assert ours.diff(theirs, amount=1).rows == []
    boundaries = [(each.min_key, each.max_key, each.count) for each in theirs.ranges()]
    assert [(each.min_key, each.max_key, each.count) for each in ours.ranges()] == boundaries


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ranges_of_many_tasks_equal_those_of_a_single_writer(spark, lake, tmp_path):
    listing = spark.range(400_000).selectExpr(
        "concat('p', lpad(pmod(id * 7919, 1000), 4, '0'), '/f', lpad(id, 9, '0')) AS path",
        "concat('local://bucket/', md5(string(id))) AS physical_address",
        "id AS size",
        "md5(string(id + 1)) AS checksum",
        "timestamp_seconds(1700000000 + id) AS last_modified",
    )
    result = import_unverified(lake, "sea", "main", listing.repartitionByRange(7, "path"))
    assert result.objects == 400_000
    single = collect_arrow(_sort(listing).coalesce(1).sort("path"))
    listed = map(to_listed, single.to_batches())
    reader = pa.RecordBatchReader.from_batches(WRITTEN, RowValidator("").batches(listed))
    assert result.commit.metarange_id == kernel.write_arrow(reader, str(tmp_path)).metarange_id
