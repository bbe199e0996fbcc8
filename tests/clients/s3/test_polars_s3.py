"""polars, which reads and writes s3:// through object_store of Rust."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

FRAME = pl.DataFrame(
    {
        "depth": range(3000),
        "sea": [("north", "south sea", "é 1+2%")[row % 3] for row in range(3000)],
    }
)


@pytest.fixture(scope="module")
def storage(server):
    """Settings of polars."""
    return {
        "aws_endpoint_url": server.url,
        "aws_access_key_id": server.access_key_id,
        "aws_secret_access_key": server.secret_access_key,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
        "max_retries": 0,
    }


@pytest.mark.wiring
def test_parquet_there_and_back(repo, storage):
    url = f"s3://{repo.id}/main/seas/depths 1.parquet"
    FRAME.write_parquet(url, storage_options=storage, row_group_size=500)
    assert_frame_equal(pl.read_parquet(url, storage_options=storage), FRAME)
    scanned = pl.scan_parquet(url, storage_options=storage)
    deep = scanned.filter(pl.col("depth") >= 2990).select("depth").collect()
    assert deep["depth"].to_list() == list(range(2990, 3000))
    assert scanned.collect_schema().names() == ["depth", "sea"]
    assert repo.paths() == ["seas/depths 1.parquet"]


def test_patterns_of_files(repo, storage):
    for number in range(4):
        part = FRAME.slice(number * 750, 750)
        part.write_parquet(f"s3://{repo.id}/main/p/{number}.parquet", storage_options=storage)
    repo.put("p/readme.txt")
    found = pl.scan_parquet(f"s3://{repo.id}/main/p/[02].parquet", storage_options=storage)
    assert found.select(pl.len()).collect().item() == 1500
    whole = pl.scan_parquet(f"s3://{repo.id}/main/p/*.parquet", storage_options=storage)
    assert_frame_equal(whole.collect(), FRAME)


def test_partitions(repo, storage):
    folder = f"s3://{repo.id}/main/by-sea/"
    FRAME.lazy().sink_parquet(
        pl.PartitionBy(folder, key="sea", include_key=False), storage_options=storage
    )
    assert len(repo.paths()) == 3
    read = pl.scan_parquet(folder, hive_partitioning=True, storage_options=storage)
    assert_frame_equal(read.sort("depth").select("depth", "sea").collect(), FRAME)
    odd = read.filter(pl.col("sea") == "é 1+2%").select(pl.len()).collect().item()
    assert odd == 1000


@pytest.mark.parametrize("kind", ["csv", "ndjson", "ipc"])
def test_other_formats(repo, storage, kind):
    url = f"s3://{repo.id}/main/depths.{kind}"
    getattr(FRAME.lazy(), f"sink_{kind}")(url, storage_options=storage)
    read = getattr(pl, f"scan_{kind}")(url, storage_options=storage)
    assert_frame_equal(read.collect(), FRAME)


def test_table_larger_than_a_part_is_written_and_read(repo, storage):
    url = f"s3://{repo.id}/main/large.parquet"
    large = pl.DataFrame({"n": pl.int_range(2_500_000, eager=True).shuffle(7)})
    large.write_parquet(url, storage_options=storage, compression="uncompressed")
    assert repo.sdk.objects_api.stat_object(repo.id, "main", "large.parquet").size_bytes > 15e6
    read = pl.scan_parquet(url, storage_options=storage)
    assert read.select(pl.col("n").sum()).collect().item() == 2_500_000 * 2_499_999 // 2


def test_two_branches_in_one_query(repo, storage):
    name = "depths.parquet"
    FRAME.write_parquet(f"s3://{repo.id}/main/{name}", storage_options=storage)
    commit = repo.commit()
    repo.branch("dev")
    deeper = FRAME.with_columns(pl.col("depth") + 1)
    deeper.write_parquet(f"s3://{repo.id}/dev/{name}", storage_options=storage)
    ours, theirs = (
        pl.scan_parquet(f"s3://{repo.id}/{ref}/{name}", storage_options=storage)
        for ref in (commit.id, "dev")
    )
    moved = pl.concat([theirs, ours]).select(pl.col("depth").sum()).collect().item()
    assert moved == 2 * FRAME["depth"].sum() + 3000


def test_missing_resource(repo, storage):
    with pytest.raises(FileNotFoundError):
        pl.scan_parquet(f"s3://{repo.id}/main/none.parquet", storage_options=storage).collect()
