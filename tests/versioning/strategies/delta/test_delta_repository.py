"""Delta tables that are merged in a repository, by a rule of its file."""

import pytest
from support.formats.delta_tables import append, overwrite, rows
from support.merged_trees import branch_folder, read_tree

import anabranch
from anabranch.errors import MergeConflict

RULES = b"rules:\n  - {path: 'data/*/_delta_log/**', strategy: delta}\n"


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "_lakefs_merge.yaml", [RULES])
        yield lake


def stored(lake, branch):
    """Returns the table's files on a branch."""
    items = lake.objects.listing("sea", branch, prefix="data/", amount=1000).items
    return {item.path: lake.objects.open("sea", branch, item.path).read_bytes() for item in items}


def commit(lake, branch, folder):
    """Makes a branch what a folder is, and commits."""
    before, after = stored(lake, branch), read_tree(folder)
    lake.objects.delete_many("sea", branch, sorted(before.keys() - after.keys()))
    for path, content in after.items():
        if before.get(path) != content:
            lake.objects.upload("sea", branch, path, [content])
    lake.commits.commit("sea", branch, message="Data", committer="ada")


def checkout(lake, branch, folder):
    """Makes a folder of a branch."""
    for path, content in stored(lake, branch).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def test_branches_are_merged_in_both_directions(lake, branches, tmp_path):
    commit(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    expected = rows(branches.base)
    dev, main = branches.source, branches.destination
    for number in range(10, 40, 10):
        append(dev, {number: "mon"})
        append(dev, {number + 1: "tue"})
        append(main, {number + 2: "mon"})
        expected |= {number: "mon", number + 1: "tue", number + 2: "mon"}
        commit(lake, "dev", dev)
        commit(lake, "main", main)
        lake.refs.merge("sea", "dev", "main", committer="ada")
        main = checkout(lake, "main", tmp_path / f"main-{number}")
        assert rows(main) == expected
        dev = branch_folder(dev, f"dev-{number}")
        append(dev, {number + 3: "wed"})
        expected[number + 3] = "wed"
        commit(lake, "dev", dev)
        lake.refs.merge("sea", "main", "dev", committer="ada")
        dev = checkout(lake, "dev", tmp_path / f"back-{number}")
        assert rows(dev) == expected


def test_a_conflict_names_version_and_file_and_changes_nothing(lake, branches, tmp_path):
    commit(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    for folder, branch in ((branches.source, "dev"), (branches.destination, "main")):
        overwrite(folder, "tue", [5])
        append(folder, {6: "mon"})
        commit(lake, branch, folder)
    with pytest.raises(MergeConflict) as caught:
        lake.refs.merge("sea", "dev", "main", committer="ada")
    first, second = caught.value.conflicts
    assert [first.strategy, second.strategy] == ["delta", "delta"]
    assert first.details[0].key["version"] == 1
    assert "merged as a whole" in second.reason
    assert rows(checkout(lake, "main", tmp_path / "after")) == rows(branches.destination)
