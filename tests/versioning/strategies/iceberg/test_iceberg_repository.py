"""Iceberg tables that are merged in a repository, by a rule of its file."""

import pytest
from support.formats.iceberg_tables import rows_table
from support.lake_folders import checkout, commit_folder

import anabranch
from anabranch.errors import MergeConflict

RULES = b"rules:\n  - {path: 'metadata/**', strategy: iceberg}\n"


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "_lakefs_merge.yaml", [RULES])
        yield lake


@pytest.mark.slow
def test_branches_are_merged_again_and_again(lake, branches, tmp_path):
    commit_folder(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    expected = branches.rows(branches.base)
    for number in range(10, 30, 10):
        branches.change_source(lambda t, n=number: t.append(rows_table({n: "mon"})))
        branches.change_destination(lambda t, n=number: t.append(rows_table({n + 1: "tue"})))
        expected |= {number: "mon", number + 1: "tue"}
        commit_folder(lake, "dev", branches.source)
        commit_folder(lake, "main", branches.destination)
        lake.refs.merge("sea", "dev", "main", committer="ada")
        branches.destination = checkout(lake, "main", tmp_path / f"main-{number}")
        assert branches.rows(branches.destination) == expected


@pytest.mark.sample(1)
def test_a_conflict_names_the_file_and_changes_nothing(lake, branches, tmp_path):
    commit_folder(lake, "main", branches.base)
    lake.branches.create("sea", "dev", "main")
    branches.change_source(lambda table: table.delete("id = 1"))
    branches.change_destination(lambda table: table.delete("id = 2"))
    commit_folder(lake, "dev", branches.source)
    commit_folder(lake, "main", branches.destination)
    with pytest.raises(MergeConflict) as caught:
        lake.refs.merge("sea", "dev", "main", committer="ada")
    first = caught.value.conflicts[0]
    assert first.strategy == "iceberg"
    assert "day=mon" in first.details[0].key["file"]
    after = checkout(lake, "main", tmp_path / "after")
    assert branches.rows(after) == branches.rows(branches.destination)
