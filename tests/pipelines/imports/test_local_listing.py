"""The local import engine: trees equal to those of staging, for every sort budget, and errors."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Corrupt, DirtyBranch, Invalid, NotFound
from anabranch.model.objects.entry import AddressType, Entry
from anabranch.pipelines.imports.listings.external_sort import (
    DEFAULT_BUDGET,
    SortBudget,
    sort_listing,
)
from anabranch.pipelines.imports.listings.import_listing import LakeTarget, ListingRequest
from anabranch.pipelines.imports.listings.local_engine import import_listing
from anabranch.pipelines.imports.listings.row_validation import LISTED
from anabranch.pipelines.imports.listings.sources import ListingSource
from anabranch.testing.lake import Clock, lake_in

DAY = datetime(2024, 1, 1, 3, 4, 5, 678_901, UTC)
NAMES = st.text(st.sampled_from("ab/é\U0001f30a\x01"), min_size=1, max_size=8)
BUDGETS = st.builds(
    SortBudget, st.integers(1, 70), st.sampled_from([1, 1 << 20]), st.integers(1, 3)
)


def make_address(path):
    """Returns a valid address for any path."""
    return f"local://raw/{hashlib.md5((path or '').encode()).hexdigest()}"


def row(path, size=1, address=None, day=0, metadata=()):
    return {
        "path": path,
        "physical_address": address if address is not None else make_address(path),
        "size": size,
        "checksum": f"etag-{size}",
        "last_modified": DAY + timedelta(days=day),
        "metadata": list(metadata),
        "content_type": "a/b",
    }


def to_table(rows):
    return pa.Table.from_pylist(rows, schema=LISTED)


def to_entry(row):
    return Entry(
        address=row["physical_address"],
        address_type=int(AddressType.FULL),
        size=row["size"],
        mtime=int(row["last_modified"].timestamp()),
        mtime_nanos=row["last_modified"].microsecond * 1000,
        checksum=row["checksum"],
        metadata=dict(row["metadata"]),
        content_type=row["content_type"],
    )


def stage_and_commit(lake, rows):
    """Stages the rows' objects on another branch, commits them, and returns the commit's tree."""
    repository = lake.core.repositories.get("sea")
    lake.branches.create("sea", "staged", "empty")
    for row in rows:
        lake.core.changes.put(repository, "staged", row["path"], to_entry(row))
    return lake.commits.commit(
        "sea", "staged", message="m", committer="c", allow_empty=True
    ).metarange_id


def import_rows(lake, source, *, budget=DEFAULT_BUDGET, **fields):
    fields = {"verify": "none", **fields}
    if budget is DEFAULT_BUDGET:
        return lake.import_listing("sea", "main", source, **fields)
    request = ListingRequest(branch="main", **fields)
    rows = ListingSource(source).rows(lake.blocks)
    return import_listing(LakeTarget(lake.core, "sea"), lake.blocks, rows, request, budget=budget)


@pytest.fixture
def lake(lake):
    lake.branches.create("sea", "empty", "main")
    return lake


@settings(max_examples=examples(25))
@given(
    sizes=st.dictionaries(NAMES, st.integers(0, 1 << 40), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
    budget=BUDGETS,
    batch=st.integers(1, 9),
)
def test_tree_equals_the_tree_of_staging(sizes, order, budget, batch):
    rows = [row(path, size, metadata=[("tag", str(size))]) for path, size in sizes.items()]
    order.shuffle(rows)
    batches = to_table(rows).to_batches(max_chunksize=batch)
    with tempfile.TemporaryDirectory() as folder, lake_in(folder, Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "empty", "main")
        imported = import_rows(lake, pa.Table.from_batches(batches), budget=budget)
        assert imported.objects == len(rows)
        assert lake.commits.get("sea", "main") == imported.commit
        assert imported.commit.metarange_id == stage_and_commit(lake, rows)


@settings(max_examples=examples(60))
@given(
    rows=st.lists(
        st.tuples(st.none() | NAMES, st.integers(0, 3), st.sampled_from("xy")), max_size=60
    ),
    budget=BUDGETS,
    batch=st.integers(1, 70),
)
def test_sort_is_stable_for_every_budget(rows, budget, batch):
    listed = [row(path, n, address, day) for n, (path, day, address) in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        batches = to_table(listed).to_batches(max_chunksize=batch)
        result = [
            row
            for sorted_batch in sort_listing(batches, Path(folder), budget)
            for row in sorted_batch.to_pylist()
        ]
        assert list(Path(folder).iterdir()) == []
    listed = [row for row in listed if row["path"] is not None]
    expected = sorted(
        listed,
        key=lambda row: (
            row["path"].encode(),
            -row["last_modified"].timestamp(),
            row["physical_address"],
        ),
    )
    assert [row["size"] for row in result if row["path"] is not None] == [
        row["size"] for row in expected
    ]
    assert len(result) == len(rows)


def test_all_sources_of_a_listing_give_the_same_tree(lake, import_folder, tmp_path):
    rows = [row("b", 2, metadata=[("k", "v"), ("a", "")]), row("ä/ö", 3), row('a,\n"x', 1)]
    table = to_table(rows)
    texts = [
        {
            "Path": row["path"],
            "physical_address": row["physical_address"],
            "SIZE": str(row["size"]),
            "last_modified": row["last_modified"].isoformat(),
            "metadata": '{"k": "v", "a": ""}' if row["metadata"] else "",
            "checksum": row["checksum"],
            "content_type": row["content_type"],
            "other": "1",
        }
        for row in rows
    ]
    (import_folder / "many").mkdir()
    pq.write_table(table, tmp_path / "l.parquet")
    pa_orc.write_table(table, tmp_path / "l.orc")
    pa_csv.write_csv(pa.Table.from_pylist(texts), tmp_path / "l.csv")
    for number in range(3):
        pq.write_table(table.slice(number, 1), import_folder / "many" / f"{number}.parquet")
    (import_folder / "many" / "_SUCCESS").touch()
    expected = stage_and_commit(lake, rows)
    duck = duckdb.from_arrow(table)
    for source in (
        table,
        table.to_reader(),
        pl.from_arrow(table),
        duck,
        tmp_path / "l.parquet",
        str(tmp_path / "l.orc"),
        tmp_path / "l.csv",
        import_folder / "many",
        [import_folder / "many" / f"{number}.parquet" for number in (2, 0, 1)],
        f"local://{import_folder}/many/",
        f"local://{import_folder}/many/1.parquet",
    ):
        imported = import_rows(lake, source)
        if not str(source).endswith("1.parquet"):
            assert imported.commit.metarange_id == expected, source


def test_objects_under_the_destination_are_replaced(lake):
    import_rows(lake, to_table([row("x/old"), row("x0"), row("w")]))
    imported = import_rows(
        lake,
        to_table([row(path, address=make_address(f"x/{path}")) for path in ("a", "b/c")]),
        destination="x",
        message="second",
        metadata={"k": "v"},
        committer="me",
    )
    assert (imported.commit.message, imported.commit.committer) == ("second", "me")
    assert imported.commit.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    rows = [row("w"), row("x0"), row("x/a"), row("x/b/c")]
    assert imported.commit.metarange_id == stage_and_commit(lake, rows)


@pytest.mark.sample(2)
@pytest.mark.parametrize("budget", [DEFAULT_BUDGET, SortBudget(3, 1 << 20, 1)])
@pytest.mark.parametrize("name", ["left-out.parquet", "left-out.csv"])
def test_invalid_rows_fail_the_import_or_are_skipped(lake, tmp_path, budget, name):
    good = [row("a"), row("b", day=9), row("z")]
    bad = [
        row("b", address="local://raw/old", day=8),
        row("b", address="local://raw/older", day=7),
        row(None),
        row(""),
        row("ä" * 512 + "a"),
        row("negative", -1),
        row("no size", None),
        {**row("no address"), "physical_address": None},
    ]
    listing = to_table(bad + good)
    before = lake.branches.get("sea", "main")
    rejected = tmp_path / name
    with pytest.raises(Invalid, match="8 rows of the listing are invalid") as caught:
        import_rows(lake, listing, budget=budget, rejected_rows=rejected)
    assert caught.value.kind == "unfit_rows"
    assert "2 with a repeated path" in caught.value.message
    assert "'negative': a negative size" in caught.value.message
    assert lake.branches.get("sea", "main") == before
    counts = {
        "a repeated path": 2,
        "no path": 2,
        "a path of over 1024 bytes": 1,
        "a negative size": 1,
        "no size": 1,
        "no physical address": 1,
    }
    read = pa_csv.read_csv if name.endswith("csv") else pq.read_table
    assert Counter(read(rejected)["reason"].to_pylist()) == counts
    imported = import_rows(lake, listing, budget=budget, on_invalid="skip")
    assert imported.skipped == counts
    assert imported.shown == [
        ("", "no path"),
        ("", "no path"),
        ("b", "a repeated path"),
        ("b", "a repeated path"),
        ("negative", "a negative size"),
        ("no address", "no physical address"),
        ("no size", "no size"),
        ("ä" * 512 + "a", "a path of over 1024 bytes"),
    ]
    assert imported.commit.metarange_id == stage_and_commit(lake, good)
    import_rows(lake, to_table([row("ä" * 512)]))


def test_texts_that_are_not_integers_or_utf8_are_invalid(lake, tmp_path):
    (tmp_path / "l.csv").write_bytes(
        b"path,physical_address,size,last_modified\n"
        b"a,local://b/a, 5 ,2024-01-01 00:00:00\n"
        b"b,local://b/b,many,\n"
        b"c,local://b/c,1.5,2024-01-01T00:00:00+01:00\n"
        b"d,local://b/d,99999999999999999999,\n"
    )
    imported = import_rows(lake, tmp_path / "l.csv", on_invalid="skip")
    assert (imported.objects, imported.skipped) == (1, {"no size": 3})
    broken = pa.table(
        {
            "path": pa.array([b"a", b"\xff"], pa.binary()),
            "physical_address": ["local://b/x", "local://b/y"],
            "size": pa.array([1, 2], pa.uint8()),
        }
    )
    imported = import_rows(lake, broken, on_invalid="skip")
    assert (imported.objects, imported.skipped) == (1, {"no path": 1})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"path": ["a"]}, "no column physical_address, size"),
        ({"path": ["a"], "physical_address": ["x"], "size": [1.5]}, "the column size"),
        (
            {"path": [1], "physical_address": ["x"], "size": [1]},
            "the column path .*not a text column",
        ),
        (
            {"path": ["a"], "physical_address": ["x"], "size": [1], "last_modified": [5]},
            "the column last_modified .*not a time column",
        ),
        (
            {"path": ["a"], "physical_address": ["x"], "size": [1], "last_modified": ["noon"]},
            "the column last_modified",
        ),
        (
            {"path": ["a"], "physical_address": ["x"], "size": [1], "metadata": ["[1]"]},
            "not a JSON object of strings",
        ),
    ],
)
def test_error_names_the_invalid_column(lake, columns, message):
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match=message):
        import_rows(lake, pa.table(columns))
    assert lake.branches.get("sea", "main") == before


def test_invalid_sources_and_options_raise(lake, tmp_path, import_folder):
    with pytest.raises(NotFound, match="the listing has no objects"):
        import_rows(lake, to_table([]))
    with pytest.raises(NotFound, match="no such file"):
        import_rows(lake, tmp_path / "none.parquet")
    (tmp_path / "l.txt").touch()
    with pytest.raises(Invalid, match="unknown file format"):
        import_rows(lake, tmp_path / "l.txt")
    for name in ("l.parquet", "l.orc", "l.csv"):
        (tmp_path / name).write_bytes(b'path,physical_address,size\n"a,b')
        with pytest.raises(Corrupt, match=name):
            import_rows(lake, tmp_path / name)
    with pytest.raises(Invalid, match="int: a listing is given as files"):
        import_rows(lake, 5)
    with pytest.raises(Invalid, match="neither 'fail' nor 'skip'"):
        import_rows(lake, to_table([row("a")]), on_invalid="ignore")
    with pytest.raises(NotFound):
        import_rows(lake, f"local://{import_folder}/none/")
    lake.core.changes.put(lake.core.repositories.get("sea"), "main", "x", to_entry(row("x")))
    with pytest.raises(DirtyBranch):
        import_rows(lake, to_table([row("a")]))
