"""Written Parquet files, read by two independent readers."""

from __future__ import annotations

import io

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.records.parquet import parquet_table

TEXTS = st.text(max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(st.tuples(TEXTS.filter(lambda text: text.isprintable()), NUMBERS), min_size=1)


def written(rows):
    addresses, dates = [list(column) for column in zip(*rows, strict=True)]
    return parquet_table({"physical_address": addresses, "creation_date": dates}, "test")


@settings(max_examples=examples(60), deadline=None)
@given(ROWS)
def test_written_table_is_read_back(rows):
    read = pq.read_table(io.BytesIO(written(rows)))
    assert read.to_pydict() == {
        "physical_address": [address for address, _ in rows],
        "creation_date": [date for _, date in rows],
    }


def test_columns_match_lakefs():
    file = pq.ParquetFile(io.BytesIO(written([("data/a/b", 1), ("data/c/d", 2)])))
    fields = [(field.name, field.type, field.nullable) for field in file.schema_arrow]
    assert fields == [
        ("physical_address", pa.string(), False),
        ("creation_date", pa.int64(), False),
    ]
    columns = [file.metadata.row_group(0).column(number) for number in range(2)]
    assert [column.compression for column in columns] == ["GZIP", "GZIP"]


@pytest.mark.slow
def test_many_rows_are_read_by_another_reader(tmp_path):
    rows = [(f"data/{number:020d}/{number:020d}", number) for number in range(50_000)]
    path = tmp_path / "file"
    path.write_bytes(written(rows))
    columns = "count(*), sum(creation_date), max(physical_address)"
    found = duckdb.sql(f"SELECT {columns} FROM read_parquet('{path}')")
    assert found.fetchone() == (50_000, sum(range(50_000)), rows[-1][0])


def test_many_columns_are_read():
    table = parquet_table({f"c{number}": [number] for number in range(20)}, "test")
    assert pq.read_table(io.BytesIO(table)).num_columns == 20


def test_floating_point_column_round_trips():
    depths = [0.5, -1.25, 1e300, float("inf"), 0.0]
    table = pq.read_table(io.BytesIO(parquet_table({"depth": depths}, "test")))
    assert table.schema.field("depth").type == pa.float64()
    assert table.column("depth").to_pylist() == depths
    file = pq.ParquetFile(io.BytesIO(parquet_table({"depth": depths, "n": [1] * 5}, "test")))
    assert str(file.schema.column(0).logical_type) == "None"
