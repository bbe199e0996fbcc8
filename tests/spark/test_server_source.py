"""A server as the source of DataFrames, and its errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import anabranch.spark
from anabranch.errors import Busy, Corrupt, Gone, Invalid, NotFound, Unauthenticated
from anabranch.spark.sources.commit_sources import open_repository

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def source(server):
    """The server, with the key pair of its administrator."""
    return anabranch.spark.Server(server.url, *server.auth)


def test_dataframes_equal_listings_and_diffs_of_the_server(spark, source, repository):
    table = anabranch.spark.objects(spark, source, repository.id, "main", entries_per_task=1)
    listed = [(x.path, x.size_bytes, x.checksum) for x in repository.ref("main").objects()]
    assert [tuple(row) for row in table.select("path", "size", "checksum").collect()] == listed
    changes = anabranch.spark.changes(spark, source, repository.id, "main~1", "main")
    expected = [(x.type, x.path) for x in repository.ref("main~1").diff("main", type="two_dot")]
    assert [(row.change, row.path) for row in changes.collect()] == expected


def test_errors_of_the_server_are_raised(server, source, repository):
    with pytest.raises(NotFound, match=server.url):
        open_repository(source, "no-such-repository")
    with pytest.raises(NotFound):
        open_repository(source, repository.id).ranges("nothing")
    wrong = anabranch.spark.Server(server.url, server.access_key_id, "wrong")
    with pytest.raises(Unauthenticated):
        open_repository(wrong, repository.id)
    with pytest.raises(Busy, match="refused"):
        open_repository(anabranch.spark.Server("http://127.0.0.1:1", "a", "b"), "sea")
    with pytest.raises(Invalid):
        anabranch.spark.Server("file:///etc", "a", "b")


def test_missing_or_damaged_table_raises_an_error(source, repository):
    opened = open_repository(source, repository.id)
    (table,) = opened.ranges("main")
    with opened.tables.locator() as locate:
        assert Path(locate(table.id)).read_bytes() == Path(locate(table.id)).read_bytes()
        path = Path(locate(table.id))
        with pytest.raises(Gone, match="0" * 64):
            locate("0" * 64)
    assert not path.exists()

    client = repository._client.sdk_client
    location = client.metadata_api.get_range(repository.id, table.id).location
    stored = Path(location.removeprefix("local://"))
    content = stored.read_bytes()
    damaged = stored.with_name("damaged")
    damaged.write_bytes(content[:-1])
    damaged.replace(stored)
    try:
        with opened.tables.locator() as locate, pytest.raises(Corrupt, match=table.id):
            locate(table.id)
    finally:  # garbage collections in other tests read all repositories of the server
        stored.write_bytes(content)


def test_repr_does_not_contain_the_secret_key(server, source):
    unpickled = pickle.loads(pickle.dumps(source))  # noqa: S301
    for text in (repr(source), str(unpickled), repr(vars(unpickled))):
        assert server.secret_access_key not in text
    assert repr(unpickled) == repr(source)
