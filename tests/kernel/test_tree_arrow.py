"""Trees as Arrow streams and back."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import keys, prefixes, records

from .conftest import EMPTY, patient, read

OBJECTS = {
    "a/ä.parquet": (
        "data/1",
        1,
        1_700_000_000,
        123_456_789,
        7,
        "etag",
        {"b": "2", "a": "ü"},
        "t/x",
    ),
    "b": ("s3://bucket/b", 2, 0, 0, 2**40, "", {}, ""),
    "c": ("", 0, -5, 999_999_000, 0, "e", {"k": ""}, "text/csv"),
}


@pytest.fixture
def tree(lake):
    return lake.write({k.encode(): _kernel.encode_entry(*entry) for k, entry in OBJECTS.items()})


@patient
@given(records(), prefixes, st.one_of(st.just(b""), keys), st.integers(1, 50))
def test_a_raw_scan_is_that_of_a_dictionary(lake, committed, prefix, after, batch):
    scan = lake.write(committed).scan(prefix=prefix, after=after, decoded=False, batch=batch)
    table = pa.table(scan)
    rows = [(row["key"], (row["identity"], row["data"])) for row in table.to_pylist()]
    assert rows == tree_model.listing(committed, prefix, after, b"")
    assert all(0 < chunk.num_rows <= batch for chunk in table.to_batches())


@patient
@given(records())
def test_a_raw_stream_makes_the_same_tree(lake, committed):
    tree = lake.write(committed)
    written = _kernel.write_arrow(tree.scan(decoded=False, batch=17), str(lake.folder))
    assert (written.metarange_id, written.count) == (tree.metarange_id, len(tree))
    ranges = _kernel.write_ranges_arrow(tree.scan(decoded=False), str(lake.folder))
    assert ranges == tree.ranges()


def test_a_decoded_scan(tree):
    table = pa.table(tree.scan())
    utc = dt.UTC
    assert table.to_pylist() == [
        {
            "path": "a/ä.parquet",
            "physical_address": "data/1",
            "address_type": 1,
            "last_modified": dt.datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=utc),
            "size": 7,
            "checksum": "etag",
            "metadata": [("a", "ü"), ("b", "2")],
            "content_type": "t/x",
        },
        {
            "path": "b",
            "physical_address": "s3://bucket/b",
            "address_type": 2,
            "last_modified": dt.datetime(1970, 1, 1, tzinfo=utc),
            "size": 2**40,
            "checksum": "",
            "metadata": [],
            "content_type": "",
        },
        {
            "path": "c",
            "physical_address": "",
            "address_type": 0,
            "last_modified": dt.datetime(1969, 12, 31, 23, 59, 55, 999_999, tzinfo=utc),
            "size": 0,
            "checksum": "e",
            "metadata": [("k", "")],
            "content_type": "text/csv",
        },
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
def test_a_decoded_stream_makes_a_tree_of_the_same_objects(lake, tree, unit, text):
    table = pa.table(tree.scan())
    casts = {name: table[name].cast(text) for name in ("path", "physical_address", "checksum")}
    casts["content_type"] = table["content_type"].cast(text)
    stamps = table["last_modified"]
    if unit == "s":
        stamps = pc.floor_temporal(stamps, unit="second")
    casts["last_modified"] = stamps.cast(pa.timestamp(unit, "UTC"), safe=False)
    casts["address_type"] = table["address_type"].cast(pa.int64())
    columns = [casts.get(name, table[name]) for name in table.column_names]
    source = pa.table(columns, names=table.column_names)
    written = _kernel.write_arrow(source, str(lake.folder))
    again = lake.open(written.metarange_id)
    assert again.diff(tree, amount=5).rows == []
    kept = pa.table(again.scan())
    assert kept.drop(["last_modified"]).equals(table.drop(["last_modified"]))
    if unit in ("us", "ns"):
        assert kept.equals(table)


def test_metadata_may_be_null_and_in_any_order(lake, tree):
    table = pa.table(tree.scan()).slice(0, 2)
    pairs = [[("z", "1"), ("a", "2"), ("z", "3")], None]
    column = pa.array(pairs, pa.map_(pa.string(), pa.string()))
    source = table.set_column(6, "metadata", column)
    source = source.set_column(7, "content_type", pa.array([None, "t"]))
    found = read(lake.open(_kernel.write_arrow(source, str(lake.folder)).metarange_id))
    entries = [_kernel.decode_entry(data) for _, data in found.values()]
    assert [entry[6] for entry in entries] == [{"a": "2", "z": "3"}, {}]
    assert [entry[7] for entry in entries] == ["", "t"]
    expected = _kernel.entry_identity(7, "etag", {"a": "2", "z": "3"}, "")
    assert next(iter(found.values()))[0] == expected


def test_system_metadata_is_left_out_of_objects_and_kept_in_records(lake, tree):
    system = {"::anabranch::checksum": "x", "::anabranch::parts": "y"}
    entry = ("data/1", 1, 0, 0, 7, "etag", {"a": "1", **system}, "")
    marked = lake.write({b"a": _kernel.encode_entry(*entry)})
    assert pa.table(marked.scan())["metadata"].to_pylist() == [[("a", "1")]]
    raw = _kernel.write_arrow(marked.scan(decoded=False), str(lake.folder))
    assert raw.metarange_id == marked.metarange_id
    table = pa.table(tree.scan()).slice(0, 1)
    column = pa.array([[("a", "1"), *system.items()]], pa.map_(pa.string(), pa.string()))
    source = table.set_column(6, "metadata", column)
    ((identity, data),) = read(
        lake.open(_kernel.write_arrow(source, str(lake.folder)).metarange_id)
    ).values()
    assert _kernel.decode_entry(data)[6] == {"a": "1"}
    assert identity == _kernel.entry_identity(7, "etag", {"a": "1"}, "t/x")


def test_batches_that_are_wrong_are_refused(own_lake, tree):
    table = pa.table(tree.scan())
    folder = str(own_lake.folder)
    for name in table.column_names:
        with pytest.raises(_kernel.KernelError, match=f'no column "{name}"'):
            _kernel.write_arrow(table.drop([name]), folder)
        position = table.column_names.index(name)
        wrong = table.set_column(position, name, pa.array([True, False, True]))
        with pytest.raises(_kernel.KernelError, match=f'"{name}" is Boolean'):
            _kernel.write_arrow(wrong, folder)
        if name not in ("metadata", "content_type"):
            null = pa.nulls(3, table.schema.field(name).type)
            with pytest.raises(_kernel.KernelError, match=f'"{name}" is null in row 0'):
                _kernel.write_arrow(table.set_column(position, name, null), folder)
    with pytest.raises(ValueError, match="comes after"):
        _kernel.write_arrow(table.take([1, 0]), folder)
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        _kernel.write_arrow([1], folder)
    not_text = pa.array([b"\xff", b"\xff", b"\xff"]).view(pa.string())
    with pytest.raises(_kernel.KernelError, match="UTF-8"):
        _kernel.write_arrow(table.set_column(5, "checksum", not_text), folder)
    assert own_lake.names() == set()


def test_a_source_that_fails_midway_is_an_error(lake, tree):
    table = pa.table(tree.scan())

    def batches():
        yield from table.to_batches()
        raise LookupError("no more")

    source = pa.RecordBatchReader.from_batches(table.schema, batches())
    with pytest.raises(_kernel.KernelError, match="no more"):
        _kernel.write_arrow(source, str(lake.folder))


def test_a_stream_is_taken_once(tree):
    scan = tree.scan()
    pa.table(scan)
    with pytest.raises(ValueError, match="taken"):
        pa.table(scan)
    tree.scan().__arrow_c_stream__()  # never read, let go


def test_what_is_no_text_is_shown_raw_only(lake):
    tree = lake.write({b"\xff": _kernel.encode_entry("a", 1, 0, 0, 0, "", {}, "")})
    with pytest.raises(pa.ArrowInvalid, match="raw form"):
        pa.table(tree.scan())
    assert pa.table(tree.scan(decoded=False))["key"].to_pylist() == [b"\xff"]


def test_nothing(lake):
    empty = lake.open("")
    for decoded, columns in ((True, 8), (False, 3)):
        table = pa.table(empty.scan(decoded=decoded))
        assert table.shape == (0, columns)
        written = _kernel.write_arrow(table, str(lake.folder))
        assert (written.metarange_id, written.tables) == (EMPTY, [EMPTY])
