"""Transactions: what a block changes reaches the branch as one commit, or not at all."""

from __future__ import annotations

import pytest

from anabranch.errors import DirtyBranch, MergeConflict, NotFound


def branches(lake, sea):
    page = lake.branches.list(sea.name, show_hidden=True, amount=100)
    return [each.id for each in page.items]


def test_all_changes_of_a_block_are_one_commit(lake, sea, main):
    transaction = main.transaction("Both", metadata={"k": "v"})
    with transaction as tx:
        tx.write("a", b"1")
        tx.commit("in between")
        with tx.open("b", "w") as file:
            file.write("2")
        assert not main.exists("a")
        assert len(branches(lake, sea)) == 2
        assert [each.name for each in sea.branches()] == ["main"]
    assert (main.read("a"), main.read("b")) == (b"1", b"2")
    head, initial = main.log()
    assert (head.message, head.metadata["k"], head.parents) == ("Both", "v", (initial.id,))
    assert transaction.commit_id == head.id
    assert branches(lake, sea) == ["main"]


def test_a_block_that_fails_changes_nothing(lake, sea, main):
    class Stop(Exception):
        pass

    def failing():
        with main.transaction("m") as tx:
            tx.write("a", b"1")
            tx.commit("in between")
            raise Stop

    with pytest.raises(Stop):
        failing()
    assert not main.exists("a")
    assert len(list(main.log())) == 1
    assert branches(lake, sea) == ["main"]


def test_a_block_without_changes_makes_no_commit(lake, sea, main):
    transaction = main.transaction("m")
    with transaction as tx:
        assert list(tx.objects()) == []
    assert transaction.commit_id == ""
    assert len(list(main.log())) == 1
    assert branches(lake, sea) == ["main"]


def test_other_changes_of_the_same_path_are_a_conflict(lake, sea, main):
    def racing(path):
        with main.transaction("mine") as tx:
            tx.write("a", f"mine {path}")
            main.write(path, b"theirs")
            main.commit("theirs")

    racing("b")
    with pytest.raises(MergeConflict) as refused:
        racing("a")
    assert refused.value.paths == ("a",)
    assert (main.read("a"), main.read("b")) == (b"theirs", b"theirs")
    assert branches(lake, sea) == ["main"]


def test_uncommitted_changes_of_the_branch_are_not_mixed_in(lake, sea, main):
    main.write("b", b"1")

    def work():
        with main.transaction("m") as tx:
            tx.write("a", b"1")

    with pytest.raises(DirtyBranch):
        work()
    assert branches(lake, sea) == ["main"]
    assert [each.path for each in main.changes()] == ["b"]


def test_a_branch_that_does_not_exist_has_no_transactions(lake, sea):
    with pytest.raises(NotFound), sea.branch("nothing").transaction("m"):
        raise AssertionError
    assert branches(lake, sea) == ["main"]
