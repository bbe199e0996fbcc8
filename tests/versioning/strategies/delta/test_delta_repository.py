"""Delta tables that are merged in a repository, by a rule of its file."""

import pytest
from support.formats.delta_tables import LOG, append, log_names, open_table, overwrite, rows
from support.lake_folders import checkout, commit_folder
from support.merged_trees import branch_folder

import anabranch
from anabranch.errors import MergeConflict

RULES = b"rules:\n  - {path: 'data/*/_delta_log/**', strategy: delta}\n"


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "_lakefs_merge.yaml", [RULES])
        yield lake


def test_branches_are_merged_in_both_directions(lake, branches, tmp_path):
    commit_folder(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    expected = rows(branches.base)
    dev, main = branches.source, branches.destination
    for number in range(10, 40, 10):
        append(dev, {number: "mon"})
        append(dev, {number + 1: "tue"})
        append(main, {number + 2: "mon"})
        expected |= {number: "mon", number + 1: "tue", number + 2: "mon"}
        commit_folder(lake, "dev", dev)
        commit_folder(lake, "main", main)
        lake.refs.merge("sea", "dev", "main", committer="ada")
        main = checkout(lake, "main", tmp_path / f"main-{number}")
        assert rows(main) == expected
        dev = branch_folder(dev, f"dev-{number}")
        append(dev, {number + 3: "wed"})
        expected[number + 3] = "wed"
        commit_folder(lake, "dev", dev)
        lake.refs.merge("sea", "main", "dev", committer="ada")
        dev = checkout(lake, "dev", tmp_path / f"back-{number}")
        assert rows(dev) == expected


def test_a_conflict_names_version_and_file_and_changes_nothing(lake, branches, tmp_path):
    commit_folder(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    for folder, branch in ((branches.source, "dev"), (branches.destination, "main")):
        overwrite(folder, "tue", [5])
        append(folder, {6: "mon"})
        commit_folder(lake, branch, folder)
    with pytest.raises(MergeConflict) as caught:
        lake.refs.merge("sea", "dev", "main", committer="ada")
    first, second = caught.value.conflicts
    assert [first.strategy, second.strategy] == ["delta", "delta"]
    assert first.details[0].key["version"] == 1
    assert "merged as a whole" in second.reason
    assert rows(checkout(lake, "main", tmp_path / "after")) == rows(branches.destination)


def test_logs_that_both_sides_cleaned_up(lake, branches, tmp_path):
    """Paths that both have removed are not in the merged tree."""
    for number in range(10, 13):
        append(branches.base, {number: "mon"})
    open_table(branches.base).create_checkpoint()
    branches.fork()
    commit_folder(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    for folder, branch, number in (
        (branches.source, "dev", 20),
        (branches.destination, "main", 30),
    ):
        for version in range(3):
            (folder / LOG / f"{version:020}.json").unlink()
        append(folder, {number: "tue"})
        open_table(folder).create_checkpoint()
        commit_folder(lake, branch, folder)
    lake.refs.merge("sea", "dev", "main", committer="ada")
    merged = checkout(lake, "main", tmp_path / "merged")
    assert rows(merged) == {**rows(branches.base), 20: "tue", 30: "tue"}
    assert log_names(merged)[0] == f"{3:020}.checkpoint.parquet"
