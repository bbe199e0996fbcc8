"""A server as the source of DataFrames, and what it refuses."""

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
    """The server, as its administrator sees it."""
    return anabranch.spark.Server(server.url, *server.auth)


def test_a_server_gives_what_it_lists(spark, source, repository):
    table = anabranch.spark.objects(spark, source, repository.id, "main", entries_per_task=1)
    listed = [(x.path, x.size_bytes, x.checksum) for x in repository.ref("main").objects()]
    assert [tuple(row) for row in table.select("path", "size", "checksum").collect()] == listed
    changes = anabranch.spark.changes(spark, source, repository.id, "main~1", "main")
    wanted = [(x.type, x.path) for x in repository.ref("main~1").diff("main", type="two_dot")]
    assert [(row.change, row.path) for row in changes.collect()] == wanted


def test_what_a_server_refuses(server, source, repository):
    with pytest.raises(NotFound, match=server.url):
        open_repository(source, "nothing-of-the-kind")
    with pytest.raises(NotFound):
        open_repository(source, repository.id).ranges("nothing")
    wrong = anabranch.spark.Server(server.url, server.access_key_id, "wrong")
    with pytest.raises(Unauthenticated):
        open_repository(wrong, repository.id)
    with pytest.raises(Busy, match="refused"):
        open_repository(anabranch.spark.Server("http://127.0.0.1:1", "a", "b"), "sea")
    with pytest.raises(Invalid):
        anabranch.spark.Server("file:///etc", "a", "b")


def test_tables_that_are_lost_or_damaged(source, repository):
    found = open_repository(source, repository.id)
    (table,) = found.ranges("main")
    with found.tables.locator() as locate:
        assert Path(locate(table.id)).read_bytes() == Path(locate(table.id)).read_bytes()
        kept = Path(locate(table.id))
        with pytest.raises(Gone, match="0" * 64):
            locate("0" * 64)
    assert not kept.exists()

    client = repository._client.sdk_client
    location = client.metadata_api.get_range(repository.id, table.id).location
    stored = Path(location.removeprefix("local://"))
    content = stored.read_bytes()
    damaged = stored.with_name("damaged")
    damaged.write_bytes(content[:-1])
    damaged.replace(stored)
    try:
        with found.tables.locator() as locate, pytest.raises(Corrupt, match=table.id):
            locate(table.id)
    finally:  # collections of other tests read all repositories of the server
        stored.write_bytes(content)


def test_keys_are_not_shown(server, source):
    again = pickle.loads(pickle.dumps(source))  # noqa: S301  made here
    for shown in (repr(source), str(again), repr(vars(again))):
        assert server.secret_access_key not in shown
    assert repr(again) == repr(source)
