"""Transactions: the branch gets all changes of a block, or none."""

from __future__ import annotations

import pytest

import anabranch.spark
from anabranch.errors import MergeConflict, NotFound, Unauthenticated
from anabranch.model.objects.entry import Entry

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def source(server):
    """The server, with the key pair of its administrator."""
    return anabranch.spark.Server(server.url, *server.auth)


def branches(repository):
    """Returns the names of all branches, including hidden ones."""
    page = repository._client.sdk_client.branches_api.list_branches(repository.id, show_hidden=True)
    return [branch.id for branch in page.results]


def paths(repository, reference="main"):
    return [stat.path for stat in repository.ref(reference).objects()]


def test_changes_of_a_block_are_merged_together(spark, source, repository):
    """Two tables, one of which is computed from the other, become visible at the end."""
    before = paths(repository)
    with anabranch.spark.transaction(
        spark, source, repository.id, "main", message="Rides", metadata={"night": "1"}
    ) as branch:
        root = f"s3a://{repository.id}/{branch}"
        spark.range(100).selectExpr("id", "id % 3 as day").write.parquet(f"{root}/rides")
        by_day = spark.read.parquet(f"{root}/rides").groupBy("day").count()
        by_day.write.parquet(f"{root}/by-day")
        assert paths(repository) == before
        assert branch not in [each.id for each in repository.branches()]
        assert branches(repository) == ["main", branch]
    assert branches(repository) == ["main"]
    assert spark.read.parquet(f"s3a://{repository.id}/main/by-day").count() == 3
    merge, *_ = repository.ref("main").log()
    assert (merge.message, len(merge.parents)) == ("Rides", 2)
    assert merge.metadata["night"] == "1"
    assert merge.metadata["spark.app.id"] == spark.conf.get("spark.app.id")


@pytest.mark.parametrize("error", [ValueError("stop here"), KeyboardInterrupt()])
def test_changes_of_a_block_that_raises_are_discarded(spark, source, repository, error):
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


def test_block_without_changes_creates_no_commit(spark, source, repository):
    before = repository.ref("main").get_commit().id
    with anabranch.spark.transaction(spark, source, repository.id, "main"):
        pass
    assert repository.ref("main").get_commit().id == before
    assert branches(repository) == ["main"]


@pytest.mark.parametrize("kept", [True, False])
def test_conflict_error_has_the_paths_and_the_hidden_branch(spark, source, repository, kept):
    names = []

    def work():
        with anabranch.spark.transaction(
            spark, source, repository.id, "main", keep_conflicting=kept
        ) as branch:
            names.append(branch)
            for target, content in ((branch, b"ours"), ("main", b"theirs")):
                for path in ("a/1", "ä"):
                    repository.branch(target).object(path).upload(content)
            repository.branch(branch).object("only/ours").upload(b"ours")
            repository.branch("main").commit("Meanwhile")

    with pytest.raises(MergeConflict, match=r"2 of the paths .*: a/1, ä$") as caught:
        work()
    assert (caught.value.paths, caught.value.count) == (("a/1", "ä"), 2)
    assert repository.ref("main").object("a/1").reader().read() == b"theirs"
    assert "only/ours" not in paths(repository)
    (name,) = names
    assert (name in branches(repository)) == (name in caught.value.hint) == kept
    if kept:  # as the hint suggests
        repository.branch(name).merge_into(repository.branch("main"), strategy="source-wins")
        assert repository.ref("main").object("a/1").reader().read() == b"ours"


def test_changes_are_kept_if_the_branch_was_deleted(spark, source, repository):
    """The note of the error names the hidden branch."""
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


def test_error_names_a_hidden_branch_that_could_not_be_deleted(spark, source, repository):
    def delete_hidden(branch):
        repository.branch(branch).object("new").upload(b"new")
        repository.branch(branch).commit("All of it")
        repository.branch("copy").create(branch)
        repository.branch(branch).delete()

    def work():
        with anabranch.spark.transaction(spark, source, repository.id, "main") as branch:
            delete_hidden(branch)
            raise ValueError(branch)

    with pytest.raises(ValueError, match="transaction_") as caught:
        work()
    assert "could not be deleted" in " ".join(caught.value.__notes__)


def test_unknown_repository_or_branch_is_an_error_before_the_block(
    spark, server, source, repository
):
    repository.tag("v1").create("main")

    def enter(server, name, branch):
        with anabranch.spark.transaction(spark, server, name, branch):
            pytest.fail("the block must not run")

    for name, branch in ((repository.id, "nothing"), (repository.id, "v1"), ("nothing", "main")):
        with pytest.raises(NotFound):
            enter(source, name, branch)
    with pytest.raises(Unauthenticated):
        enter(
            anabranch.spark.Server(server.url, server.access_key_id, "wrong"), repository.id, "main"
        )
    assert branches(repository) == ["main"]


def test_transactions_in_a_lake_commit_and_conflict_like_on_a_server(spark, lake):
    def put(branch, path, checksum):
        entry = Entry(address=path, address_type=1, size=1, mtime=1, checksum=checksum)
        lake.core.changes.put(lake.repositories.get("sea"), branch, path, entry)

    for number in range(2):
        with anabranch.spark.transaction(spark, lake, "sea", "main", message="More") as branch:
            put(branch, f"a/{number}", "1")
    page = lake.objects.listing("sea", "main", amount=10)
    assert [stat.path for stat in page.items] == ["a/0", "a/1"]
    all_branches = lake.branches.list("sea", amount=10, show_hidden=True)
    assert [branch.id for branch in all_branches.items] == ["main"]
    assert lake.commits.log("sea", "main", amount=1).items[0].message == "More"

    def collide():
        with anabranch.spark.transaction(spark, lake, "sea", "main") as branch:
            put(branch, "a/0", "2")
            put("main", "a/0", "3")
            lake.commits.commit("sea", "main", message="Meanwhile", committer="c")

    with pytest.raises(MergeConflict, match="a/0"):
        collide()
