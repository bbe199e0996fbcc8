"""Delta tables of deltalake (Rust), whose writers agree by conditional puts on a commit's file."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError
from lakefs_sdk.exceptions import ApiException

WRITERS, APPENDS = 4, 6

APPEND = """
import json, sys
import pyarrow as pa
from deltalake import write_deltalake

url, writer, appends, storage = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
sys.stdin.readline()
for number in range(appends):
    rows = pa.table({"writer": [writer], "number": [number]})
    write_deltalake(url, rows, mode="append", storage_options=json.loads(storage))
"""


def rows(*depths, sea="north"):
    return pa.table({"depth": pa.array(depths, pa.int64()), "sea": [sea] * len(depths)})


def depths(table):
    return sorted(table.to_pyarrow_table().column("depth").to_pylist())


@pytest.fixture(scope="module")
def storage(server):
    """Settings of deltalake; conditional puts are its default."""
    return {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }


@pytest.fixture
def open_table(repo, storage):
    """Returns a function that opens the table at a reference."""

    def opened(ref="main", **options):
        url = f"s3://{repo.id}/{ref}/seas"
        return DeltaTable(url, storage_options=storage, **options)

    return opened


@pytest.mark.wiring
def test_a_table_s_life(repo, storage, open_table):
    url = f"s3://{repo.id}/main/seas"
    with pytest.raises(TableNotFoundError):
        open_table()
    write_deltalake(url, rows(1, 2), partition_by=["sea"], storage_options=storage)
    for depth in (3, 4, 5):
        write_deltalake(url, rows(depth, sea="south sea"), mode="append", storage_options=storage)
    table = open_table()
    assert (table.version(), depths(table)) == (3, [1, 2, 3, 4, 5])
    assert depths(open_table(version=1)) == [1, 2, 3]
    table.update(updates={"depth": "depth * 10"}, predicate="depth = 5")
    table.delete("depth = 1")
    merge = table.merge(rows(2, 6), "s.depth = t.depth", source_alias="s", target_alias="t")
    merge.when_not_matched_insert_all().execute()
    assert depths(open_table()) == [2, 3, 4, 6, 50]
    files = len(open_table().file_uris())
    compacted = open_table().optimize.compact()
    assert compacted["numFilesRemoved"] > compacted["numFilesAdded"]
    assert len(open_table().file_uris()) < files
    assert depths(open_table()) == [2, 3, 4, 6, 50]


def test_vacuum_and_checkpoints(repo, storage, open_table):
    url = f"s3://{repo.id}/main/seas"
    for depth in range(4):
        write_deltalake(url, rows(depth), mode="overwrite", storage_options=storage)
    table = open_table()
    table.create_checkpoint()
    before = [path for path in repo.paths() if path.endswith(".parquet") and "_log" not in path]
    gone = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    after = [path for path in repo.paths() if path.endswith(".parquet") and "_log" not in path]
    assert (len(before), len(gone), len(after)) == (4, 3, 1)
    assert depths(open_table()) == [3]
    assert "seas/_delta_log/_last_checkpoint" in repo.paths()


def test_writers_of_several_processes_lose_no_commit(repo, storage, open_table):
    """Each appends row by row at once with the others; a conflict is one writer's to try again."""
    url = f"s3://{repo.id}/main/seas"
    schema = pa.table({"writer": pa.array([], pa.int64()), "number": pa.array([], pa.int64())})
    write_deltalake(url, schema, storage_options=storage)
    command = [sys.executable, "-c", APPEND, url]
    processes = [
        subprocess.Popen(
            [*command, str(writer), str(APPENDS), json.dumps(storage)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for writer in range(WRITERS)
    ]
    with ThreadPoolExecutor(WRITERS) as pool:
        ended = list(pool.map(lambda process: process.communicate("go\n", timeout=100), processes))
    assert [process.returncode for process in processes] == [0] * WRITERS, ended
    table = open_table()
    assert table.version() == WRITERS * APPENDS
    written = table.to_pyarrow_table().to_pylist()
    assert sorted((row["writer"], row["number"]) for row in written) == [
        (writer, number) for writer in range(WRITERS) for number in range(APPENDS)
    ]


def test_a_table_on_a_branch_is_merged_and_old_commits_stay(repo, storage, open_table):
    write_deltalake(f"s3://{repo.id}/main/seas", rows(1), storage_options=storage)
    first = repo.commit()
    repo.branch("dev")
    write_deltalake(f"s3://{repo.id}/dev/seas", rows(2), mode="append", storage_options=storage)
    assert depths(open_table()) == [1]
    assert depths(open_table("dev")) == [1, 2]
    repo.commit(branch="dev")
    repo.merge("dev")
    assert depths(open_table()) == [1, 2]
    assert (open_table().version(), open_table(first.id).version()) == (1, 0)
    open_table("dev").vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert depths(open_table(first.id)) == [1]


def test_a_table_that_two_branches_wrote_is_in_conflict_at_its_log(repo, storage, open_table):
    write_deltalake(f"s3://{repo.id}/main/seas", rows(1), storage_options=storage)
    repo.commit()
    repo.branch("dev")
    for branch, depth in (("main", 2), ("dev", 3)):
        url = f"s3://{repo.id}/{branch}/seas"
        write_deltalake(url, rows(depth), mode="append", storage_options=storage)
        repo.commit(branch=branch)
    with pytest.raises(ApiException) as caught:
        repo.merge("dev")
    assert caught.value.status == 409
    assert depths(open_table()) == [1, 2]
    repo.merge("dev", strategy="source-wins")
    assert depths(open_table()) == [1, 3]
