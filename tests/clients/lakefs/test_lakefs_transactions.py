"""The wrapper `lakefs`: transactions, which happen on a hidden branch and are merged."""

from __future__ import annotations

import pytest
from lakefs.exceptions import TransactionException


@pytest.fixture
def main(lake):
    branch = lake.branch("main")
    branch.object("kept").upload("one")
    branch.object("old").upload("one")
    branch.commit("Before")
    return branch


def listed(branch):
    return [each.path for each in branch.objects()]


def hidden_branches(lake):
    return [each.id for each in lake.branches(show_hidden=True) if each.id != "main"]


def test_a_transaction_is_merged_at_its_end(lake, main):
    before = main.get_commit()
    with main.transact(commit_message="All at once", commit_metadata={"ticket": "7"}) as tx:
        tx.object("new").upload("two")
        tx.object("kept").upload("two")
        for each in tx.objects(prefix="old"):
            each_object = tx.object(each.path)
            each_object.delete()
        assert listed(main) == ["kept", "old"]
        assert listed(tx) == ["kept", "new"]
        assert [each.id for each in lake.branches()] == ["main"]
        assert hidden_branches(lake) == [tx.id]
    assert listed(main) == ["kept", "new"]
    assert main.object("kept").reader("r").read() == "two"
    merge, commit, *_ = main.log()
    assert merge.message == f"Merge transaction {tx.id} to branch"
    assert (commit.message, commit.metadata) == ("All at once", {"ticket": "7"})
    assert merge.parents == [before.id, commit.id]
    assert hidden_branches(lake) == []


def test_a_transaction_may_tag_what_it_did(lake, main):
    with main.transact(commit_message="Tagged", tag="v1") as tx:
        tx.object("new").upload("two")
    assert lake.tag("v1").get_commit() == main.get_commit()


def test_a_transaction_that_fails_leaves_nothing(lake, main):
    class Interrupted(Exception):
        pass

    def transact():
        with main.transact(commit_message="Never") as tx:
            tx.object("new").upload("two")
            raise Interrupted

    before = main.get_commit()
    with pytest.raises(Interrupted):
        transact()
    assert main.get_commit() == before
    assert listed(main) == ["kept", "old"]
    assert hidden_branches(lake) == []


def test_a_transaction_that_clashes_is_refused_and_leaves_nothing(lake, main):
    def transact():
        with main.transact(commit_message="Late") as tx:
            tx.object("kept").upload("late")
            main.object("kept").upload("early")
            main.commit("Early")

    with pytest.raises(TransactionException, match="409"):
        transact()
    assert main.object("kept").reader("r").read() == "early"
    assert main.get_commit().message == "Early"
    assert hidden_branches(lake) == []


def test_a_transaction_without_changes_is_refused(lake, main):
    before = main.get_commit()
    with pytest.raises(TransactionException, match="no changes"), main.transact():
        pass
    assert main.get_commit() == before
    assert hidden_branches(lake) == []
