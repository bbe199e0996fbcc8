"""Transactions: what a block changes reaches the branch as one commit, or not at all."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.errors import DirtyBranch, Invalid, MergeConflict, NotFound


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


class Copies:
    """Copies of a Delta table in folders, which the package deltalake writes and reads."""

    def __init__(self, folder):
        self.folder = folder

    def of(self, branch, name):
        place = self.folder / name
        for stat in branch.objects("trips/"):
            file = place / stat.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(branch.read(stat.path))
        return place / "trips"

    def append(self, branch, name, *ids):
        table = self.of(branch, name)
        before = set(table.rglob("*"))
        write_deltalake(table, pa.table({"id": pa.array(ids, pa.int64())}), mode="append")
        for file in set(table.rglob("*")) - before:
            if file.is_file():
                branch.write(f"trips/{file.relative_to(table)}", file.read_bytes())

    def ids(self, branch, name):
        rows = DeltaTable(self.of(branch, name)).to_pyarrow_table()
        return sorted(rows["id"].to_pylist())


def test_appends_of_both_sides_to_a_table_are_united(lake, sea, main, tmp_path):
    copies = Copies(tmp_path)
    copies.append(main, "first", 1)
    main.commit("first")

    def both(name, *numbers, **options):
        with main.transaction("appended", **options) as tx:
            copies.append(tx, f"{name}-tx", numbers[0])
            copies.append(main, f"{name}-main", numbers[1])
            main.commit("meanwhile")

    both("united", 2, 3, tables=["trips/"])
    assert copies.ids(main, "after") == [1, 2, 3]
    assert [commit.message for commit in main.log()][:2] == ["appended", "meanwhile"]
    with pytest.raises(MergeConflict):
        both("refused", 4, 5)
    with pytest.raises(MergeConflict):
        both("other", 6, 7, tables=["trip", "trips2"])
    assert copies.ids(main, "last") == [1, 2, 3, 5, 7]
    assert branches(lake, sea) == ["main"]


@pytest.mark.parametrize("tables", ["trips", [""], ["/"], ["*"], ["a?"], ["s3a://sea/main/trips"]])
def test_paths_that_are_no_tables(lake, sea, main, tables):
    with pytest.raises(Invalid):
        main.transaction("m", tables=tables)
    assert branches(lake, sea) == ["main"]
