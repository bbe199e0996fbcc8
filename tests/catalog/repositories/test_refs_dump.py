"""Dumping references: consistent while others write, and of consistent repositories only."""

from __future__ import annotations

import itertools
import threading

import pytest
from support.session.sizes import sized

from anabranch.errors import Corrupt, Gone, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.testing.lake import lake_in
from anabranch.versioning.records import keys, references

OLD = 3000
"""So many commits that others write while they are read."""


@pytest.fixture
def lake(tmp_path, clock):
    with lake_in(tmp_path, clock, SQLiteStore(tmp_path / "metadata.db")) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


def records(lake, metarange_id, decode):
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), metarange_id)
    page = tree.listing(amount=100_000)
    page.feed([], last=True)
    return [decode(value[1]) for _, value in page.rows()]


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, message="m", committer="me", allow_empty=True)


@pytest.mark.slow
def test_a_dump_is_of_one_moment_while_others_write(lake):
    """Each round commits to a branch, tags the commit, creates the next branch from the tag and
    deletes the first: so at each moment the newest of branch and tag are at most a step apart.
    """
    stored = lake.core.repositories.get("sea")
    old = [
        lake.core.commits.make(
            committer="", message=f"{number}", metarange_id="", metadata={}, parents=[]
        )
        for number in range(OLD)
    ]
    lake.keyvalue.apply([lake.core.commits.write(stored, each) for each in old])
    stop = threading.Event()
    failures = []

    def write():
        try:
            branch = "main"
            for number in itertools.count():
                if stop.is_set():
                    return
                made = commit(lake, branch)
                lake.tags.create("sea", f"t{number:06}", made.id)
                lake.branches.create("sea", f"b{number:06}", f"t{number:06}")
                if branch != "main":
                    lake.branches.delete("sea", branch)
                    lake.tags.delete("sea", f"t{number - 1:06}")
                branch = f"b{number:06}"
        except Exception as error:
            failures.append(error)
            raise

    writer = threading.Thread(target=write)
    writer.start()
    try:
        numbers = set()
        while len(numbers) < sized(8, weekly=25):
            dump = lake.refs_dumps.dump("sea")
            commits = {
                each.id: each for each in records(lake, dump.commits, references.commit_from)
            }
            branches = records(lake, dump.branches, references.branch_from)
            tags = records(lake, dump.tags, references.tag_from)
            for ref in (*branches, *tags):
                assert ref.commit_id in commits
            assert all(parent in commits for each in commits.values() for parent in each.parents)
            made = [int(each.id[1:]) for each in branches if each.id != "main"]
            tagged = [int(each.id[1:]) for each in tags]
            assert len(made) <= 2
            assert len(tagged) <= 2
            newest = max(made, default=-1)
            assert max(tagged, default=-1) - newest in (0, 1)
            # the initial commit, one for each tag that was made, and the one that is not tagged yet
            assert len(commits) - OLD - max(tagged, default=-1) in (2, 3)
            numbers.add(newest)
            assert not failures
    finally:
        stop.set()
        writer.join()
    lake.repositories.create("copy", "local://sea", bare=True)
    lake.refs_dumps.restore("copy", dump)


def test_a_missing_commit_is_an_error(lake):
    first, second = commit(lake), commit(lake)
    stored = lake.core.repositories.get("sea")
    for lost in (first, second):
        raw = lake.keyvalue.get(stored.partition, keys.commit(lost.id))
        lake.keyvalue.apply([Write(stored.partition, keys.commit(lost.id), None)])
        with pytest.raises(Corrupt, match=f"main: the commit {second.id}"):
            lake.refs_dumps.dump("sea")
        lake.keyvalue.apply([Write(stored.partition, keys.commit(lost.id), raw)])
    lake.refs_dumps.dump("sea")


def test_commits_without_their_ancestors_are_left_out(lake):
    """Nothing refers to them."""
    stored = lake.core.repositories.get("sea")
    absent = lake.core.commits.make(
        committer="", message="", metarange_id="", metadata={}, parents=[]
    )
    child, other = (
        lake.core.commits.make(
            committer="", message=text, metarange_id="", metadata={}, parents=parents
        )
        for text, parents in (("child", [absent]), ("other", []))
    )
    grandchild = lake.core.commits.make(
        committer="", message="grandchild", metarange_id="", metadata={}, parents=[child, other]
    )
    lake.keyvalue.apply(
        [lake.core.commits.write(stored, each) for each in (child, grandchild, other)]
    )
    dump = lake.refs_dumps.dump("sea")
    dumped = {each.id for each in records(lake, dump.commits, references.commit_from)}
    assert dumped == {lake.branches.get("sea", "main").commit_id, other.id}


def test_deleted_repositories_are_not_dumped(lake):
    stored = lake.core.repositories.get("sea")
    lake.repositories.delete("sea")
    with pytest.raises(NotFound):
        lake.core.refs_dumper.dump(stored)
    lake.repositories.create("sea", "local://lake")
    with pytest.raises(Gone):
        lake.core.refs_dumper.dump(stored)


def test_staged_changes_are_not_in_a_dump(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    dump = lake.refs_dumps.dump("sea")
    (branch,) = records(lake, dump.branches, references.branch_from)
    assert (branch.staging_token, branch.sealed_tokens) == ("", ())
