"""Imports by tasks into a bucket, through a server."""

from __future__ import annotations

import uuid
from functools import partial

import pytest

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import (
    Denied,
    DirtyBranch,
    Invalid,
    NotFound,
    NotSupported,
    PreconditionFailed,
)
from anabranch.spark.jobs.server_import_target import ServerTarget
from anabranch.spark.sources.stores import open_store
from anabranch.testing.server import running_server

from .unstored_listings import create_repository, import_locally, import_unverified

pytestmark = pytest.mark.timeout(600)


def branches(repository):
    return {each.id for each in repository.branches(max_amount=100)}


def test_import_through_a_server(spark, lake, listing, served, repository, store):
    result = import_unverified(
        *(served, repository.id, "main", listing), store=store, message="All", metadata={"k": "v"}
    )
    assert result.objects == 3_000
    assert result.commit.message == "All"
    assert result.commit.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    first = import_locally(lake, listing)
    assert result.commit.metarange_id == first.metarange_id
    head = repository.branch("main").head.get_commit()
    assert (head.id, len(head.parents)) == (result.commit.id, 1)
    part = listing.where("size % 2 = 0")
    second = import_unverified(
        *(served, repository.id, "main", part), store=store, destination="p03"
    ).commit
    assert second.parents == (result.commit.id,)
    assert second.metarange_id == import_locally(lake, part, destination="p03").metarange_id
    assert branches(repository) == {"main"}
    assert anabranch.spark.objects(spark, served, repository.id, "main").count() > 3_000


ACTION = b"""
name: tickets
on:
  pre-merge: {branches: [main]}
hooks:
  - {id: ticket, type: check, properties: {commit_metadata: {ticket: "FL-*"}}}
"""


def test_hooks_examine_the_merge_of_an_import_through_a_server(listing, served, repository, store):
    main = repository.branch("main")
    main.object("_lakefs_actions/tickets.yaml").upload(ACTION)
    head = main.commit("Tickets").id
    import_all = partial(
        import_unverified, *(served, repository.id, "main", listing), store=store, destination="x"
    )
    with pytest.raises(PreconditionFailed, match="pre-merge hook aborted"):
        import_all()
    assert main.head.id == head
    assert branches(repository) == {"main"}
    assert import_all(metadata={"ticket": "FL-1"}).commit.id == main.head.id != head


def test_invalid_imports_through_a_server_are_refused(listing, served, repository, store):
    with pytest.raises(NotSupported, match="need access to this store"):
        import_unverified(served, repository.id, "main", listing)
    with pytest.raises(Invalid, match="committer"):
        import_unverified(served, repository.id, "main", listing, store=store, committer="me")
    with pytest.raises(NotFound):
        import_unverified(served, repository.id, "nowhere", listing, store=store)
    before = repository.branch("main").head.id
    with pytest.raises(Invalid, match="3000 rows"):
        import_unverified(
            served,
            repository.id,
            "main",
            listing.selectExpr("path", "physical_address", "-1 - size AS size"),
            store=store,
        )
    repository.branch("main").object("staged").upload(b"x")
    with pytest.raises(DirtyBranch):
        import_unverified(served, repository.id, "main", listing, store=store)
    assert repository.branch("main").head.id == before
    assert branches(repository) == {"main"}


@pytest.mark.slow  # tests/spark/imports verifies rows
def test_rows_are_verified_through_a_server(spark, served, repository, store, bucket):
    """By the rules of the server's store, and with the objects in it."""
    root = f"s3://{bucket}/{uuid.uuid4().hex}"
    with open_store(store) as blocks:
        for name in ("a", "b"):
            blocks.put(f"{root}/{name}", [b"12"])
    checksum = "c20ad4d76fe97759aa27a0c99bff6710"
    columns = "path STRING, physical_address STRING, size BIGINT, checksum STRING"
    good = [("a", f"{root}/a", 2, checksum)]
    wrong = [("b", f"{root}/b", 2, "0" * 32), ("c", f"{root}/c", 2, "")]
    others = [("d", "local:///etc/passwd", 1, ""), ("e", f"s3://{bucket}", 1, "")]
    import_rows = partial(
        anabranch.spark.import_listing, served, repository.id, "main", store=store
    )
    before = repository.branch("main").head.id
    listing = spark.createDataFrame([*good, *wrong], columns).repartition(2)
    with pytest.raises(Invalid, match="2 of 3 rows that were looked up"):
        import_rows(listing)
    listing = spark.createDataFrame([*good, *wrong, *others], columns).repartition(2)
    with pytest.raises(Invalid, match="1 with an address of another store"):
        import_rows(listing)
    assert repository.branch("main").head.id == before
    result = import_rows(listing, verify="all", on_invalid="skip")
    assert (result.objects, result.skipped) == (
        1,
        {
            "an ETag that is not the object's": 1,
            "an address of another store": 1,
            "an address that no object of the store can have": 1,
            "an object that is not stored": 1,
        },
    )
    assert repository.branch("main").object("a").reader().read() == b"12"


def test_server_refuses_folders_that_only_the_store_of_the_workers_allows(spark, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a").write_bytes(b"12")
    columns = "path STRING, physical_address STRING, size BIGINT"
    listing = spark.createDataFrame([("a", f"local://{tmp_path}/raw/a", 2)], columns)
    with running_server(tmp_path / "lake") as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        repository = create_repository(served, "local://of-a-server")
        blocks = LocalBlocks(tmp_path / "lake" / "block", external_prefixes=[f"{tmp_path}/raw"])
        before = repository.branch("main").head.id
        with pytest.raises(Denied, match="outside the folders that imports may read") as caught:
            anabranch.spark.import_listing(
                served, repository.id, "main", listing, store=blocks.opener()
            )
        assert caught.value.kind == "address_forbidden"
        assert repository.branch("main").head.id == before
        assert branches(repository) == {"main"}


def test_store_of_another_type_than_the_servers_is_refused(listing, served, repository):
    store = anabranch.spark.GoogleStore(endpoint=served.url)
    with pytest.raises(Invalid, match="the server's store is s3, but the given store is gs"):
        import_unverified(served, repository.id, "main", listing, store=store)


def test_concurrent_commit_before_the_merge_is_kept(
    listing, served, repository, store, monkeypatch
):
    """Another client commits after the tree was built from the previous head."""
    main = repository.branch("main")
    commit_tree, once = ServerTarget._commit_tree, []

    def late(self, name, tree, request):
        commit_tree(self, name, tree, request)
        if not once:
            once.append(name)
            main.object("theirs").upload(b"theirs")
            main.commit("Theirs")

    monkeypatch.setattr(ServerTarget, "_commit_tree", late)
    result = import_unverified(
        served, repository.id, "main", listing, store=store, destination="in"
    )
    paths = {each.path for each in main.objects(max_amount=10)}
    assert "in/p00/f000000" in paths
    assert main.object("theirs").reader().read() == b"theirs"
    assert main.head.get_commit().parents == list(result.commit.parents)
    assert branches(repository) == {"main"}


def test_objects_of_a_commit_during_the_merge_are_replaced(
    listing, served, repository, store, monkeypatch
):
    main = repository.branch("main")
    merge, once = ServerTarget._merge, []

    def late(self, name, request):
        if not once:
            once.append(name)
            for path in ("theirs", "in/theirs"):
                main.object(path).upload(b"theirs")
            main.commit("Theirs")
        return merge(self, name, request)

    monkeypatch.setattr(ServerTarget, "_merge", late)
    few = listing.where("size < 9")
    result = import_unverified(served, repository.id, "main", few, store=store, destination="in")
    paths = {each.path for each in main.objects(max_amount=20)}
    assert paths == {"theirs", *(f"in/p{size % 7:02}/f{size:06}" for size in range(9))}
    assert main.head.get_commit().id == result.commit.id
    assert [each.message for each in main.log(max_amount=3)][-1] == "Theirs"
    assert branches(repository) == {"main"}
