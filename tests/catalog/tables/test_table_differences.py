"""Row differences of tables of Delta Lake and Iceberg between two references."""

from __future__ import annotations

import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from support.formats.iceberg_tables import FolderCatalog, rows_table

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Denied, Invalid, NotFound
from anabranch.testing.lake import Clock, lake_in


@pytest.fixture
def lake(tmp_path):
    with lake_in(tmp_path / "lake", Clock()) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "table"
    found.mkdir()
    return found


@pytest.fixture
def commit(lake, folder):
    """Makes the folder that of the table on main and commits it; returns the commit's id."""
    stored = {}

    def commit():
        for path in folder.rglob("*"):
            if path.is_file():
                name, content = path.relative_to(folder).as_posix(), path.read_bytes()
                if stored.get(name) != content:
                    lake.objects.upload("sea", "main", f"tables/t/{name}", [content])
                    stored[name] = content
        return lake.commits.commit("sea", "main", message="table", committer="ada").id

    return commit


@pytest.fixture
def differ(lake):
    def differ(left, right, path="tables/t", **options):
        options = {"two_dot": True, "amount": 1000, **options}
        return lake.refs.diff_rows("sea", left, right, path, **options)

    return differ


def kinds(page):
    return sorted((row.kind, *row.key.values(), *row.columns) for row in page.items)


def data(**columns):
    return pa.table(columns)


def test_changed_rows_of_a_delta_table(folder, commit, differ):
    days = ["mon", "mon", "tue", "tue", "wed"]
    write_deltalake(folder, data(id=[1, 2, 3, 4, 5], day=days), partition_by=["day"])
    first = commit()
    DeltaTable(folder).delete("id = 1")
    write_deltalake(folder, data(id=[6], day=["wed"]), mode="append")
    DeltaTable(folder).update(new_values={"id": 40}, predicate="id = 4")
    second = commit()
    page = differ(first, second)
    assert (page.matched_by, page.key) == ("found", ["id"])
    assert kinds(page) == [("added", 6), ("added", 40), ("removed", 1), ("removed", 4)]
    back = differ(second, first, key=["id"])
    assert kinds(back) == [("added", 1), ("added", 4), ("removed", 6), ("removed", 40)]
    assert differ(second, second).items == []
    whole = differ(first, second, whole_rows=True)
    assert sorted((row.kind, (row.left or row.right)["id"]) for row in whole.items) == kinds(page)


def test_changed_cells_of_an_iceberg_table(folder, commit, differ):
    catalog = FolderCatalog(folder)
    catalog.create()
    catalog.load().append(rows_table({1: "mon", 2: "tue", 3: "wed"}))
    first = commit()
    catalog.load().overwrite(rows_table({2: "sun"}), overwrite_filter="id = 2")
    catalog.load().append(rows_table({4: "mon"}))
    second = commit()
    page = differ(first, second, key=["id"])
    assert kinds(page) == [("added", 4), ("changed", 2, "day")]
    changed = next(row for row in page.items if row.kind == "changed")
    assert (changed.left, changed.right) == ({"id": 2, "day": "tue"}, {"id": 2, "day": "sun"})


def test_compaction_changes_no_rows(folder, commit, differ):
    for number in range(4):
        write_deltalake(folder, data(id=[number]), mode="append")
    first = commit()
    DeltaTable(folder).optimize.compact()
    assert differ(first, commit()).items == []


def test_files_of_both_versions_are_not_read(lake, folder, commit, differ):
    write_deltalake(folder, data(id=[1, 2]))
    (kept,) = folder.glob("*.parquet")
    commit()
    lake.objects.delete("sea", "main", f"tables/t/{kept.name}")
    first = lake.commits.commit("sea", "main", message="lost", committer="ada").id
    write_deltalake(folder, data(id=[3]), mode="append")
    assert kinds(differ(first, commit())) == [("added", 3)]
    # a change that concerns the file reads it
    DeltaTable(folder).delete("id = 1")
    with pytest.raises(Invalid, match="which does not exist"):
        differ(first, commit())


def test_an_added_column_is_a_change_of_all_rows_that_have_it(folder, commit, differ):
    write_deltalake(folder, data(id=[1, 2]))
    first = commit()
    write_deltalake(folder, data(id=[3], more=["x"]), mode="append", schema_mode="merge")
    second = commit()
    page = differ(first, second, key=["id"])
    added = next(row for row in page.items if row.kind == "added")
    assert added.right == {"id": 3, "more": "x"}


def test_a_table_that_one_side_lacks_has_no_rows_there(lake, folder, commit, differ):
    lake.objects.upload("sea", "main", "other", [b""])
    first = lake.commits.commit("sea", "main", message="none", committer="ada").id
    write_deltalake(folder, data(id=[1, 2]))
    second = commit()
    assert kinds(differ(first, second)) == [("added", 1), ("added", 2)]
    assert kinds(differ(second, first, path="tables/t/")) == [("removed", 1), ("removed", 2)]
    with pytest.raises(NotFound):
        differ(first, second, path="tables/none")


@pytest.mark.slow
def test_a_staged_table_is_compared(lake, folder, commit, differ):
    write_deltalake(folder, data(id=[1]))
    first = commit()
    write_deltalake(folder, data(id=[2]), mode="append")
    for path in folder.rglob("*"):
        if path.is_file():
            name = f"tables/t/{path.relative_to(folder).as_posix()}"
            lake.objects.upload("sea", "main", name, [path.read_bytes()])
    assert kinds(differ(first, "main$")) == [("added", 2)]
    assert kinds(differ(first, "main")) == []


@pytest.mark.slow
def test_pages_continue(folder, commit, differ):
    write_deltalake(folder, data(id=[0]))
    first = commit()
    write_deltalake(folder, data(id=list(range(1, 8))), mode="append")
    second = commit()
    seen, after = [], ""
    while True:
        page = differ(first, second, amount=3, after=after)
        seen += [row.key["id"] for row in page.items]
        after = page.next_offset
        if not page.has_more:
            break
    assert seen == list(range(1, 8))


def test_every_file_must_be_readable(folder, commit, differ):
    write_deltalake(folder, data(id=[1]))
    first = commit()
    write_deltalake(folder, data(id=[2]), mode="append")
    second = commit()
    new = max(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime_ns).name

    def readable(*denied):
        arn = "arn:lakefs:fs:::repository/sea/object/tables/t"
        statements = [Statement(Effect.ALLOW, ("fs:ReadObject",), (f"{arn}/*",))]
        names = tuple(f"{arn}/{name}" for name in denied)
        if names:
            statements.append(Statement(Effect.DENY, ("fs:ReadObject",), names))
        return ReadablePaths(Actor(username="reader", statements=statements), "sea")

    assert kinds(differ(first, second, readable=readable())) == [("added", 2)]
    for name in (new, f"_delta_log/{1:020}.json"):
        with pytest.raises(Denied, match=name):
            differ(first, second, readable=readable(name))


def test_damaged_tables_are_refused(lake, folder, commit, differ):
    write_deltalake(folder, data(id=[1]))
    first = commit()
    path = f"tables/t/_delta_log/{1:020}.json"
    lake.objects.upload("sea", "main", path, [b'{"add": {"path": "../x", "partitionValues": {}}}'])
    second = lake.commits.commit("sea", "main", message="hostile", committer="ada").id
    with pytest.raises(Invalid, match="no path of an object"):
        differ(first, second)
    shutil.rmtree(folder)
