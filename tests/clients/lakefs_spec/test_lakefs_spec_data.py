"""lakefs-spec under pandas and pyarrow: tables written to a branch, read from any commit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from lakefs_spec import LakeFSFileSystem


@pytest.fixture
def frame():
    generator = np.random.default_rng(7)
    count = 5000
    return pd.DataFrame(
        {
            "id": np.arange(count),
            "month": np.arange(count) % 12 + 1,
            "delay": generator.normal(10, 40, count),
            "carrier": generator.choice(["AA", "DL", "ÜÄ", "x y"], count),
            "at": pd.date_range("2013-01-01", periods=count, freq="h"),
        }
    )


@pytest.fixture
def root(repo):
    return f"lakefs://{repo.id}/main"


@pytest.mark.parametrize("compression", ["snappy", "zstd"])
def test_parquet_makes_the_round(credentials, root, frame, compression):
    frame.to_parquet(
        f"{root}/frame.parquet", index=False, compression=compression, storage_options=credentials
    )
    found = pd.read_parquet(f"{root}/frame.parquet", storage_options=credentials)
    pd.testing.assert_frame_equal(found, frame)
    columns = pd.read_parquet(
        f"{root}/frame.parquet", columns=["delay"], storage_options=credentials
    )
    pd.testing.assert_frame_equal(columns, frame[["delay"]])


def test_csv_makes_the_round(credentials, root, frame):
    frame.to_csv(f"{root}/frame.csv", index=False, storage_options=credentials)
    found = pd.read_csv(f"{root}/frame.csv", parse_dates=["at"], storage_options=credentials)
    pd.testing.assert_frame_equal(found, frame)


def test_json_makes_the_round(credentials, root, frame):
    rows = frame[["id", "month", "carrier"]].head(100)
    rows.to_json(f"{root}/a.jsonl", orient="records", lines=True, storage_options=credentials)
    found = pd.read_json(f"{root}/a.jsonl", lines=True, storage_options=credentials)
    pd.testing.assert_frame_equal(found, rows)


def test_old_commits_hold_old_tables(credentials, repo, root, frame):
    changed = frame.assign(delay=0.0)
    for version in (frame, changed):
        version.to_parquet(f"{root}/frame.parquet", index=False, storage_options=credentials)
        repo.commit()
    for reference, wanted in (("main", changed), ("main~1", frame)):
        address = f"lakefs://{repo.id}/{reference}/frame.parquet"
        found = pd.read_parquet(address, storage_options=credentials)
        pd.testing.assert_frame_equal(found, wanted)


def test_a_partitioned_dataset_is_written_and_scanned(credentials, repo, frame):
    fs = LakeFSFileSystem(**credentials)
    # two digits: lakefs-spec lists month=1 and month=10 together
    padded = frame.assign(month=frame["month"].map("{:02}".format))
    table = pa.Table.from_pandas(padded, preserve_index=False)
    base = f"{repo.id}/main/by-month"
    pq.write_to_dataset(table, base, partition_cols=["month"], filesystem=fs)
    repo.commit()
    assert len(repo.paths()) == 12
    months = ds.partitioning(pa.schema([("month", pa.string())]), flavor="hive")
    data = ds.dataset(base, filesystem=fs, format="parquet", partitioning=months)
    assert data.count_rows() == len(frame)
    march = data.to_table(filter=pc.field("month") == "03", columns=["id"])
    assert sorted(march["id"].to_pylist()) == frame.loc[frame["month"] == 3, "id"].tolist()


def test_a_parquet_file_is_read_by_row_group(credentials, repo, frame):
    fs = LakeFSFileSystem(**credentials)
    with fs.open(f"lakefs://{repo.id}/main/a.parquet", "wb") as file:
        pq.write_table(pa.Table.from_pandas(frame), file, row_group_size=1000)
    with fs.open(f"lakefs://{repo.id}/main/a.parquet", "rb") as file:
        parquet = pq.ParquetFile(file)
        assert parquet.num_row_groups == 5
        group = parquet.read_row_group(3, columns=["id"])
    assert group["id"].to_pylist() == list(range(3000, 4000))
