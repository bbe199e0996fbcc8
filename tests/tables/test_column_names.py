"""Names of columns that SQL tells apart: only the letters A to Z have no case there."""

import io
import itertools

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from support.formats.folder_objects import FolderObjects, live_rows
from support.formats.iceberg_tables import FolderCatalog
from support.formats.row_comparison import compare

from anabranch.errors import Conflict, Invalid
from anabranch.tables.delta.snapshot import read_delta_table
from anabranch.tables.iceberg.snapshot import read_iceberg_table
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.sql_columns import sql_column
from anabranch.tables.sql_names import folded, identifier
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

PLACE = TablePlace("sea", "t/")
TOLD_APART = [("É", "é"), ("Straße", "strasse"), ("Σ", "ς"), ("İ", "i̇"), ("\u212a", "k")]
PAIRS = [*TOLD_APART, ("A", "a"), ("Zß", "zß")]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids="-".join)
def test_names_are_equal_where_they_are_for_duckdb(one, other):
    sql = f"SELECT {{{identifier(one)}: 1, {identifier(other)}: 2}}"
    try:
        duckdb.sql(sql)
    except duckdb.BinderException:
        assert folded(one) == folded(other)
    else:
        assert folded(one) != folded(other)


def iceberg_table(tmp_path, *names):
    """Creates a table with a row, whose columns have the numbers from 1."""
    folder = tmp_path / "t"
    folder.mkdir()
    catalog = FolderCatalog(folder)
    fields = [NestedField(number, name, LongType()) for number, name in enumerate(names, 1)]
    catalog.create(Schema(*fields), UNPARTITIONED_PARTITION_SPEC)
    row = {name: pa.array([number]) for number, name in enumerate(names, 1)}
    catalog.load().append(pa.table(row))
    return row


def test_columns_of_iceberg(tmp_path):
    row = iceberg_table(tmp_path, *itertools.chain.from_iterable(TOLD_APART))
    objects = FolderObjects(tmp_path)
    assert live_rows(read_iceberg_table(objects, PLACE), objects) == pa.table(row)


def test_columns_that_sql_does_not_tell_apart_are_refused(tmp_path):
    iceberg_table(tmp_path, "a", "A")
    objects = FolderObjects(tmp_path)
    with pytest.raises(Invalid, match="does not tell the columns 'a' and 'A' apart"):
        live_rows(read_iceberg_table(objects, PLACE), objects)


def test_a_column_of_delta_is_not_in_files_that_have_one_alike(tmp_path):
    nested = [{"Straße": 3, "strasse": 4}]
    write_deltalake(tmp_path / "t", pa.table({"s": nested, "strasse": [1]}))
    more = pa.table({"s": nested, "strasse": [5], "Straße": [6]})
    write_deltalake(tmp_path / "t", more, mode="append", schema_mode="merge")
    expected = DeltaTable(tmp_path / "t").to_pyarrow_table().sort_by("strasse")
    objects = FolderObjects(tmp_path)
    found = live_rows(read_delta_table(objects, PLACE), objects).sort_by("strasse")
    assert found.to_pylist() == expected.to_pylist()
    assert found["Straße"].to_pylist() == [None, 6]


@pytest.mark.parametrize(("one", "other"), TOLD_APART, ids="-".join)
def test_columns_of_a_file_that_is_merged(one, other):
    contents = []
    for source, destination in ((1, 2), (3, 2), (1, 4)):
        sink = io.BytesIO()
        pq.write_table(pa.table({"id": [1], one: [source], other: [destination]}), sink)
        contents.append(sink.getvalue())
    base, source, destination = contents
    strategy = rows_strategy({"key": "id"})
    sides = {"base": base, "source": source, "destination": destination}
    merged = run_strategy(strategy, "t.parquet", **sides).files["t.parquet"]
    assert pq.read_table(io.BytesIO(merged)).to_pylist() == [{"id": 1, one: 3, other: 4}]
    (difference,) = compare("t.parquet", base, merged, key=["id"]).items
    assert set(difference.columns) == {one, other}
    assert difference.right == {"id": 1, one: 3, other: 4}


def test_columns_that_are_equal_but_for_case_are_not_merged():
    lines = [f"id,a,A\n1,{number},2\n".encode() for number in range(3)]
    sides = dict(zip(("base", "source", "destination"), lines, strict=True))
    with pytest.raises(Conflict, match="'a' and 'A', which differ in case only"):
        run_strategy(rows_strategy({"key": "id"}), "t.csv", **sides)


def test_structs_are_structs_in_sql():
    for one, other in itertools.chain(TOLD_APART, [("a", "b")]):
        kind = pa.struct({one: pa.int64(), other: pa.int64()})
        assert sql_column(kind).type == kind
    assert sql_column(pa.struct({"a": pa.int64(), "A": pa.int64()})).type == pa.string()
