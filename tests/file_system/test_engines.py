"""pandas, Polars, DuckDB and pyarrow on the file system."""

from __future__ import annotations

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from anabranch.fsspec import AnabranchFileSystem

TABLE = pa.table({"place": ["Mariana", "Tonga", "Kermadec"], "metres": [10935, 10820, 10047]})
FRAME = TABLE.to_pandas()


@pytest.fixture(autouse=True)
def _registered():
    fsspec.register_implementation("anabranch", AnabranchFileSystem, clobber=True)


@pytest.fixture
def options(fs):
    return fs.storage_options


@pytest.fixture
def places(fs, sea):
    """A table on a branch, and at the commit."""
    with fs.open(f"{sea}/main/t/depth.parquet", "wb") as file:
        pq.write_table(TABLE, file)
    head = fs.lake.commits.commit(sea, "main", message="depths").id
    return [f"{sea}/{name}/t" for name in ("main", head)]


def test_pandas(fs, sea, options, places):
    for place in places:
        found = pd.read_parquet(f"anabranch://{place}/depth.parquet", storage_options=options)
        assert found.equals(FRAME)
    FRAME.to_csv(f"anabranch://{sea}/main/new.csv", index=False, storage_options=options)
    again = pd.read_csv(f"anabranch://{sea}/main/new.csv", storage_options=options)
    assert again.equals(FRAME)
    FRAME.to_parquet(f"anabranch://{sea}/main/new.parquet", storage_options=options)
    assert pq.read_table(fs.open(f"{sea}/main/new.parquet")).num_rows == 3


def test_polars(fs, sea, places):
    for place in places:
        with fs.open(f"{place}/depth.parquet") as file:
            assert pl.read_parquet(file).to_arrow().column("metres").to_pylist()[0] == 10935
    with fs.open(f"{sea}/main/new.parquet", "wb") as file:
        pl.from_arrow(TABLE).write_parquet(file)
    assert pq.read_table(fs.open(f"{sea}/main/new.parquet")).num_rows == 3


def test_duckdb(fs, sea, places):
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        for place in places:
            query = f"SELECT max(metres) FROM read_parquet('anabranch://{place}/*.parquet')"
            assert connection.sql(query).fetchall() == [(10935,)]
        connection.sql(f"COPY (SELECT 7 AS n) TO 'anabranch://{sea}/main/n.csv'")
    assert fs.cat_file(f"{sea}/main/n.csv") == b"n\n7\n"


def test_pyarrow_datasets(fs, sea, places):
    for place in places:
        found = ds.dataset(place, filesystem=fs, format="parquet")
        assert found.to_table(filter=ds.field("metres") > 10100).num_rows == 2
    partitioned = ds.partitioning(pa.schema([("place", pa.string())]), flavor="hive")
    ds.write_dataset(
        TABLE, f"{sea}/main/by", filesystem=fs, format="parquet", partitioning=partitioned
    )
    again = ds.dataset(f"{sea}/main/by", filesystem=fs, partitioning=partitioned)
    assert sorted(again.to_table().column("metres").to_pylist()) == [10047, 10820, 10935]
    handler = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fs))
    files = handler.get_file_info(pyarrow.fs.FileSelector(f"{sea}/main/by", recursive=True))
    assert sum(each.is_file for each in files) == 3
