"""The local engine of listings: trees equal to those of staging, sort budgets, invalid rows."""

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

from anabranch.errors import Corrupt, DirtyBranch, Invalid, NotFound
from anabranch.model.entry import AddressType, Entry
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
ROOMS = st.builds(SortBudget, st.integers(1, 70), st.sampled_from([1, 1 << 20]), st.integers(1, 3))


def address_of(path):
    """Returns an address of the store for a path."""
    return f"local://raw/{hashlib.md5((path or '').encode()).hexdigest()}"


def row(path, size=1, address=None, day=0, metadata=()):
    return {
        "path": path,
        "physical_address": address if address is not None else address_of(path),
        "size": size,
        "checksum": f"etag-{size}",
        "last_modified": DAY + timedelta(days=day),
        "metadata": list(metadata),
        "content_type": "a/b",
    }


def table_of(rows):
    return pa.Table.from_pylist(rows, schema=LISTED)


def entry_of(each):
    return Entry(
        address=each["physical_address"],
        address_type=int(AddressType.FULL),
        size=each["size"],
        mtime=int(each["last_modified"].timestamp()),
        mtime_nanos=each["last_modified"].microsecond * 1000,
        checksum=each["checksum"],
        metadata=dict(each["metadata"]),
        content_type=each["content_type"],
    )


def by_staging(lake, rows):
    """Stages the same objects on a branch of their own; returns the tree of their commit."""
    repository = lake.core.repositories.get("sea")
    lake.branches.create("sea", "staged", "empty")
    for each in rows:
        lake.core.changes.put(repository, "staged", each["path"], entry_of(each))
    return lake.commits.commit(
        "sea", "staged", message="m", committer="c", allow_empty=True
    ).metarange_id


def imported(lake, source, *, room=DEFAULT_BUDGET, **fields):
    fields = {"verify": "none", **fields}
    if room is DEFAULT_BUDGET:
        return lake.import_listing("sea", "main", source, **fields)
    request = ListingRequest(branch="main", **fields)
    rows = ListingSource(source).rows(lake.blocks)
    return import_listing(LakeTarget(lake.core, "sea"), lake.blocks, rows, request, budget=room)


@pytest.fixture
def lake(lake):
    lake.branches.create("sea", "empty", "main")
    return lake


@settings(max_examples=25)
@given(
    sizes=st.dictionaries(NAMES, st.integers(0, 1 << 40), min_size=1, max_size=40),
    order=st.randoms(use_true_random=False),
    room=ROOMS,
    batch=st.integers(1, 9),
)
def test_the_tree_is_that_of_staging(sizes, order, room, batch):
    rows = [row(path, size, metadata=[("tag", str(size))]) for path, size in sizes.items()]
    order.shuffle(rows)
    batches = table_of(rows).to_batches(max_chunksize=batch)
    with tempfile.TemporaryDirectory() as folder, lake_in(folder, Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "empty", "main")
        made = imported(lake, pa.Table.from_batches(batches), room=room)
        assert made.objects == len(rows)
        assert lake.commits.get("sea", "main") == made.commit
        assert made.commit.metarange_id == by_staging(lake, rows)


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.none() | NAMES, st.integers(0, 3), st.sampled_from("xy")), max_size=60
    ),
    room=ROOMS,
    batch=st.integers(1, 70),
)
def test_rows_are_sorted_with_every_budget(rows, room, batch):
    listed = [row(path, n, address, day) for n, (path, day, address) in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        batches = table_of(listed).to_batches(max_chunksize=batch)
        found = [
            each for made in sort_listing(batches, Path(folder), room) for each in made.to_pylist()
        ]
        assert list(Path(folder).iterdir()) == []
    listed = [each for each in listed if each["path"] is not None]
    expected = sorted(
        listed,
        key=lambda each: (
            each["path"].encode(),
            -each["last_modified"].timestamp(),
            each["physical_address"],
        ),
    )
    assert [each["size"] for each in found if each["path"] is not None] == [
        each["size"] for each in expected
    ]
    assert len(found) == len(rows)


def test_every_form_of_a_listing_gives_the_same_tree(lake, outside, tmp_path):
    rows = [row("b", 2, metadata=[("k", "v"), ("a", "")]), row("ä/ö", 3), row('a,\n"x', 1)]
    table = table_of(rows)
    texts = [
        {
            "Path": each["path"],
            "physical_address": each["physical_address"],
            "SIZE": str(each["size"]),
            "last_modified": each["last_modified"].isoformat(),
            "metadata": '{"k": "v", "a": ""}' if each["metadata"] else "",
            "checksum": each["checksum"],
            "content_type": each["content_type"],
            "other": "1",
        }
        for each in rows
    ]
    (outside / "many").mkdir()
    pq.write_table(table, tmp_path / "l.parquet")
    pa_orc.write_table(table, tmp_path / "l.orc")
    pa_csv.write_csv(pa.Table.from_pylist(texts), tmp_path / "l.csv")
    for number in range(3):
        pq.write_table(table.slice(number, 1), outside / "many" / f"{number}.parquet")
    (outside / "many" / "_SUCCESS").touch()
    expected = by_staging(lake, rows)
    duck = duckdb.from_arrow(table)
    for source in (
        table,
        table.to_reader(),
        pl.from_arrow(table),
        duck,
        tmp_path / "l.parquet",
        str(tmp_path / "l.orc"),
        tmp_path / "l.csv",
        outside / "many",
        [outside / "many" / f"{number}.parquet" for number in (2, 0, 1)],
        f"local://{outside}/many/",
        f"local://{outside}/many/1.parquet",
    ):
        made = imported(lake, source)
        if not str(source).endswith("1.parquet"):
            assert made.commit.metarange_id == expected, source


def test_what_was_there_is_replaced_under_the_destination(lake):
    imported(lake, table_of([row("x/old"), row("x0"), row("w")]))
    made = imported(
        lake,
        table_of([row(path, address=address_of(f"x/{path}")) for path in ("a", "b/c")]),
        destination="x",
        message="second",
        metadata={"k": "v"},
        committer="me",
    )
    assert (made.commit.message, made.commit.committer) == ("second", "me")
    assert made.commit.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    rows = [row("w"), row("x0"), row("x/a"), row("x/b/c")]
    assert made.commit.metarange_id == by_staging(lake, rows)


@pytest.mark.parametrize("room", [DEFAULT_BUDGET, SortBudget(3, 1 << 20, 1)])
@pytest.mark.parametrize("name", ["left-out.parquet", "left-out.csv"])
def test_rows_that_can_be_no_objects_fail_it_or_are_skipped(lake, tmp_path, room, name):
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
    listing = table_of(bad + good)
    before = lake.branches.get("sea", "main")
    left = tmp_path / name
    with pytest.raises(Invalid, match="8 rows of the listing are invalid") as caught:
        imported(lake, listing, room=room, left_out=left)
    assert caught.value.kind == "unfit_rows"
    assert "2 with a path that came before" in caught.value.message
    assert "'negative': a negative size" in caught.value.message
    assert lake.branches.get("sea", "main") == before
    counts = {
        "a path that came before": 2,
        "no path": 2,
        "a path of over 1024 bytes": 1,
        "a negative size": 1,
        "no size": 1,
        "no physical address": 1,
    }
    read = pa_csv.read_csv if name.endswith("csv") else pq.read_table
    assert Counter(read(left)["reason"].to_pylist()) == counts
    made = imported(lake, listing, room=room, unfit="skip")
    assert made.skipped == counts
    assert made.shown == [
        ("", "no path"),
        ("", "no path"),
        ("b", "a path that came before"),
        ("b", "a path that came before"),
        ("negative", "a negative size"),
        ("no address", "no physical address"),
        ("no size", "no size"),
        ("ä" * 512 + "a", "a path of over 1024 bytes"),
    ]
    assert made.commit.metarange_id == by_staging(lake, good)
    imported(lake, table_of([row("ä" * 512)]))


def test_texts_of_sizes_and_names_that_cannot_be(lake, tmp_path):
    (tmp_path / "l.csv").write_bytes(
        b"path,physical_address,size,last_modified\n"
        b"a,local://b/a, 5 ,2024-01-01 00:00:00\n"
        b"b,local://b/b,many,\n"
        b"c,local://b/c,1.5,2024-01-01T00:00:00+01:00\n"
        b"d,local://b/d,99999999999999999999,\n"
    )
    made = imported(lake, tmp_path / "l.csv", unfit="skip")
    assert (made.objects, made.skipped) == (1, {"no size": 3})
    broken = pa.table(
        {
            "path": pa.array([b"a", b"\xff"], pa.binary()),
            "physical_address": ["local://b/x", "local://b/y"],
            "size": pa.array([1, 2], pa.uint8()),
        }
    )
    made = imported(lake, broken, unfit="skip")
    assert (made.objects, made.skipped) == (1, {"no path": 1})


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"path": ["a"]}, "no column physical_address, size"),
        ({"path": ["a"], "physical_address": ["x"], "size": [1.5]}, "the column size"),
        ({"path": [1], "physical_address": ["x"], "size": [1]}, "the column path .*not texts"),
        (
            {"path": ["a"], "physical_address": ["x"], "size": [1], "last_modified": [5]},
            "the column last_modified .*not times",
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
def test_columns_of_wrong_types_are_named_in_the_error(lake, columns, expected):
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match=expected):
        imported(lake, pa.table(columns))
    assert lake.branches.get("sea", "main") == before


def test_what_goes_wrong(lake, tmp_path, outside):
    with pytest.raises(NotFound, match="the listing has no objects"):
        imported(lake, table_of([]))
    with pytest.raises(NotFound, match="no such file"):
        imported(lake, tmp_path / "none.parquet")
    (tmp_path / "l.txt").touch()
    with pytest.raises(Invalid, match="not a readable file of rows"):
        imported(lake, tmp_path / "l.txt")
    for name in ("l.parquet", "l.orc", "l.csv"):
        (tmp_path / name).write_bytes(b'path,physical_address,size\n"a,b')
        with pytest.raises(Corrupt, match=name):
            imported(lake, tmp_path / name)
    with pytest.raises(Invalid, match="int: a listing is files"):
        imported(lake, 5)
    with pytest.raises(Invalid, match="neither 'fail' nor 'skip'"):
        imported(lake, table_of([row("a")]), unfit="ignore")
    with pytest.raises(NotFound):
        imported(lake, f"local://{outside}/none/")
    lake.core.changes.put(lake.core.repositories.get("sea"), "main", "x", entry_of(row("x")))
    with pytest.raises(DirtyBranch):
        imported(lake, table_of([row("a")]))
