"""Transactions: all of a block's work comes into the branch, or none of it."""

from __future__ import annotations

import pytest

import anabranch.spark
from anabranch.errors import MergeConflict, NotFound, Unauthenticated
from anabranch.model.entry import Entry

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def source(server):
    """The server, as its administrator sees it."""
    return anabranch.spark.Server(server.url, *server.auth)


def branches(repository):
    """Returns the names of all branches, hidden ones too."""
    page = repository._client.sdk_client.branches_api.list_branches(repository.id, show_hidden=True)
    return [found.id for found in page.results]


def paths(repository, reference="main"):
    return [found.path for found in repository.ref(reference).objects()]


def test_the_work_of_a_block_comes_in_whole(spark, source, repository):
    """Two tables, one made of the other, are not seen before the end and both after it."""
    before = paths(repository)
    with anabranch.spark.transaction(
        spark, source, repository.id, "main", message="Rides", metadata={"night": "1"}
    ) as branch:
        root = f"s3a://{repository.id}/{branch}"
        spark.range(100).selectExpr("id", "id % 3 as day").write.parquet(f"{root}/rides")
        by_day = spark.read.parquet(f"{root}/rides").groupBy("day").count()
        by_day.write.parquet(f"{root}/by-day")
        assert paths(repository) == before
        assert branch not in [found.id for found in repository.branches()]
        assert branches(repository) == ["main", branch]
    assert branches(repository) == ["main"]
    assert spark.read.parquet(f"s3a://{repository.id}/main/by-day").count() == 3
    merge, *_ = repository.ref("main").log()
    assert (merge.message, len(merge.parents)) == ("Rides", 2)
    assert merge.metadata["night"] == "1"
    assert merge.metadata["spark.app.id"] == spark.conf.get("spark.app.id")


@pytest.mark.parametrize("error", [ValueError("stop here"), KeyboardInterrupt()])
def test_a_block_that_raises_leaves_nothing(spark, source, repository, error):
    before = paths(repository), repository.ref("main").get_commit().id

    def work():
        with anabranch.spark.transaction(spark, source, repository.id, "main") as branch:
            repository.branch(branch).object("a/1").upload(b"spoilt")
            repository.branch(branch).commit("Committed by the block")
            repository.branch(branch).object("a/2").upload(b"spoilt")
            raise error

    with pytest.raises(type(error)) as caught:
        work()
    assert caught.value is error
    assert (paths(repository), repository.ref("main").get_commit().id) == before
    assert branches(repository) == ["main"]


def test_a_block_that_changes_nothing_leaves_no_commit(spark, source, repository):
    before = repository.ref("main").get_commit().id
    with anabranch.spark.transaction(spark, source, repository.id, "main"):
        pass
    assert repository.ref("main").get_commit().id == before
    assert branches(repository) == ["main"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_conflict_is_told_with_its_paths(spark, source, repository, kept):
    names = []

    def work():
        with anabranch.spark.transaction(
            spark, source, repository.id, "main", keep_conflicting=kept
        ) as branch:
            names.append(branch)
            for place, content in ((branch, b"ours"), ("main", b"theirs")):
                for path in ("a/1", "ä"):
                    repository.branch(place).object(path).upload(content)
            repository.branch(branch).object("only/ours").upload(b"ours")
            repository.branch("main").commit("Meanwhile")

    with pytest.raises(MergeConflict, match=r"2 of the paths .*: a/1, ä$") as caught:
        work()
    assert (caught.value.paths, caught.value.count) == (("a/1", "ä"), 2)
    assert repository.ref("main").object("a/1").reader().read() == b"theirs"
    assert "only/ours" not in paths(repository)
    (name,) = names
    assert (name in branches(repository)) == (name in caught.value.hint) == kept
    if kept:  # as the error says
        repository.branch(name).merge_into(repository.branch("main"), strategy="source-wins")
        assert repository.ref("main").object("a/1").reader().read() == b"ours"


def test_work_that_cannot_be_merged_is_kept_and_named(spark, source, repository):
    """The branch is deleted meanwhile, to which there is nothing that the block could do."""
    target = repository.branch("target").create("main")
    names = []

    def work():
        with anabranch.spark.transaction(spark, source, repository.id, "target") as branch:
            names.append(branch)
            repository.branch(branch).object("new").upload(b"new")
            target.delete()

    with pytest.raises(NotFound) as caught:
        work()
    assert names[0] in " ".join(caught.value.__notes__)
    assert "new" in paths(repository, names[0])


def test_a_hidden_branch_that_cannot_be_deleted_is_named(spark, source, repository):
    def deleted(branch):
        repository.branch(branch).object("new").upload(b"new")
        repository.branch(branch).commit("All of it")
        repository.branch("copy").create(branch)
        repository.branch(branch).delete()

    def work():
        with anabranch.spark.transaction(spark, source, repository.id, "main") as branch:
            deleted(branch)
            raise ValueError(branch)

    with pytest.raises(ValueError, match="transaction-") as caught:
        work()
    assert "could not be deleted" in " ".join(caught.value.__notes__)


def test_what_is_not_there_is_told_before_the_work(spark, server, source, repository):
    repository.tag("v1").create("main")

    def enter(found, name, branch):
        with anabranch.spark.transaction(spark, found, name, branch):
            pytest.fail("the block must not run")

    for name, branch in ((repository.id, "nothing"), (repository.id, "v1"), ("nothing", "main")):
        with pytest.raises(NotFound):
            enter(source, name, branch)
    with pytest.raises(Unauthenticated):
        enter(
            anabranch.spark.Server(server.url, server.access_key_id, "wrong"), repository.id, "main"
        )
    assert branches(repository) == ["main"]


def test_in_a_lake(spark, lake):
    """What a server does, a lake does, of which Spark sees the objects otherwise."""

    def put(branch, path, checksum):
        entry = Entry(address=path, address_type=1, size=1, mtime=1, checksum=checksum)
        lake.core.changes.put(lake.repositories.get("sea"), branch, path, entry)

    for number in range(2):
        with anabranch.spark.transaction(spark, lake, "sea", "main", message="More") as branch:
            put(branch, f"a/{number}", "1")
    page = lake.objects.listing("sea", "main", amount=10)
    assert [found.path for found in page.items] == ["a/0", "a/1"]
    shown = lake.branches.list("sea", amount=10, show_hidden=True)
    assert [found.id for found in shown.items] == ["main"]
    assert lake.commits.log("sea", "main", amount=1).items[0].message == "More"

    def collide():
        with anabranch.spark.transaction(spark, lake, "sea", "main") as branch:
            put(branch, "a/0", "2")
            put("main", "a/0", "3")
            lake.commits.commit("sea", "main", message="Meanwhile", committer="c")

    with pytest.raises(MergeConflict, match="a/0"):
        collide()
