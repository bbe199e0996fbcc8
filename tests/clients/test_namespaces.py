"""Storage namespaces that clients join from a prefix and a name, with an empty segment between."""

from __future__ import annotations

import duckdb
import lakefs
import lakefs_sdk
import pandas as pd
import polars as pl
import pytest
from lakefs_spec import LakeFSFileSystem
from polars.testing import assert_frame_equal


@pytest.fixture
def joined(server, client, fresh):
    """A repository whose namespace is a prefix that ends with a slash, and `/name`."""
    namespace = f"{server.storage}data//{fresh}"
    repository = lakefs.Repository(fresh, client=client).create(storage_namespace=namespace)
    assert repository.properties.storage_namespace == namespace
    return repository


@pytest.fixture
def root(joined):
    return f"lakefs://{joined.id}/main"


@pytest.fixture
def frame():
    return pd.DataFrame({"river": ["Nile", "Amazon", "Niger"], "km": [6650, 6400, 4180]})


def test_the_namespace_is_shown_as_it_was_written(joined, client):
    shown = joined.properties.storage_namespace
    assert client.sdk_client.repositories_api.get_repository(joined.id).storage_namespace == shown
    listed = [r.properties.storage_namespace for r in lakefs.repositories(client, prefix=joined.id)]
    assert listed == [shown]


def test_objects_are_written_committed_and_read(joined, sdk):
    branch = joined.branch("main")
    branch.object("a/b.txt").upload(b"abc")
    commit = branch.commit("One object").get_commit()
    assert joined.ref(commit.id).object("a/b.txt").reader(mode="rb").read() == b"abc"
    stats = sdk.objects_api.stat_object(joined.id, "main", "a/b.txt")
    assert "//" not in stats.physical_address.partition(":///")[2]
    listed = sdk.objects_api.list_objects(joined.id, "main").results
    assert [item.physical_address for item in listed] == [stats.physical_address]


def test_a_second_repository_in_the_same_place_is_refused(joined, sdk, refused, fresh):
    plain = joined.properties.storage_namespace.replace("//", "/").replace(":/", "://")
    creation = lakefs_sdk.RepositoryCreation(name=f"{fresh}-2", storage_namespace=plain)
    with refused(400, "storage namespace already in use"):
        sdk.repositories_api.create_repository(creation)


def test_pandas_round_trip(root, credentials, frame):
    frame.to_parquet(f"{root}/frame.parquet", storage_options=credentials)
    found = pd.read_parquet(f"{root}/frame.parquet", storage_options=credentials)
    pd.testing.assert_frame_equal(found, frame)


def test_polars_round_trip(root, credentials, frame):
    fs = LakeFSFileSystem(**credentials, skip_instance_cache=True)
    with fs.open(f"{root}/frame.parquet", "wb") as file:
        pl.from_pandas(frame).write_parquet(file)
    with fs.open(f"{root}/frame.parquet") as file:
        assert_frame_equal(pl.read_parquet(file), pl.from_pandas(frame))


def test_duckdb_queries_a_file(root, credentials, frame):
    fs = LakeFSFileSystem(**credentials, skip_instance_cache=True)
    frame.to_parquet(f"{root}/frame.parquet", storage_options=credentials)
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        rows = connection.sql(
            f"SELECT river FROM '{root}/frame.parquet' WHERE km > 5000 ORDER BY 1"
        )
        assert rows.fetchall() == [("Amazon",), ("Nile",)]


def test_a_transaction_commits_and_merges(root, credentials, joined, frame):
    fs = LakeFSFileSystem(**credentials, skip_instance_cache=True)
    with fs.transaction(joined.id, "main") as transaction:
        with fs.open(f"lakefs://{joined.id}/{transaction.branch.id}/frame.csv", "w") as file:
            frame.to_csv(file, index=False)
        transaction.commit(message="A frame")
    assert fs.size(f"{root}/frame.csv") == len(frame.to_csv(index=False))
