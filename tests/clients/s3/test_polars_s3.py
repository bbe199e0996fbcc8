"""polars, which reads and writes s3:// through object_store of Rust."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from support.clients import polars_on_s3


@pytest.fixture(scope="module")
def perform(server):
    """Returns a function that performs one of `polars_on_s3` in another process."""
    storage = {
        "aws_endpoint_url": server.url,
        "aws_access_key_id": server.access_key_id,
        "aws_secret_access_key": server.secret_access_key,
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
        "max_retries": 0,
    }
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        yield lambda function, *values: process.submit(function, *values, storage).result()


@pytest.mark.wiring
def test_parquet_there_and_back(repo, perform):
    url = f"s3://{repo.id}/main/seas/depths 1.parquet"
    deepest, columns = perform(polars_on_s3.round_trip_of_parquet, url)
    assert deepest == list(range(2990, 3000))
    assert columns == ["depth", "sea"]
    assert repo.paths() == ["seas/depths 1.parquet"]


def test_patterns_of_files(repo, perform):
    repo.put("p/readme.txt")
    assert perform(polars_on_s3.write_parts, f"s3://{repo.id}/main/p") == polars_on_s3.ROWS // 2


def test_partitions(repo, perform):
    odd = perform(polars_on_s3.write_partitions, f"s3://{repo.id}/main/by-sea/")
    assert odd == polars_on_s3.ROWS // 3
    assert len(repo.paths()) == 3


@pytest.mark.parametrize("kind", ["csv", "ndjson", "ipc"])
def test_other_formats(repo, perform, kind):
    perform(polars_on_s3.round_trip, kind, f"s3://{repo.id}/main/depths.{kind}")
    assert repo.paths() == [f"depths.{kind}"]


def test_table_larger_than_a_part_is_written_and_read(repo, perform):
    url, rows = f"s3://{repo.id}/main/large.parquet", 2_500_000
    assert perform(polars_on_s3.round_trip_of_large, url, rows) == rows * (rows - 1) // 2
    assert repo.sdk.objects_api.stat_object(repo.id, "main", "large.parquet").size_bytes > 15e6


def test_two_branches_in_one_query(repo, perform):
    perform(polars_on_s3.write, f"s3://{repo.id}/main/depths.parquet", 0)
    commit = repo.commit()
    repo.branch("dev")
    perform(polars_on_s3.write, f"s3://{repo.id}/dev/depths.parquet", 1)
    urls = [f"s3://{repo.id}/{reference}/depths.parquet" for reference in ("dev", commit.id)]
    rows = polars_on_s3.ROWS
    assert perform(polars_on_s3.sum_of_depths, urls) == 2 * rows * (rows - 1) // 2 + rows


def test_missing_resource(repo, perform):
    with pytest.raises(FileNotFoundError):
        perform(polars_on_s3.collect, f"s3://{repo.id}/main/none.parquet")
