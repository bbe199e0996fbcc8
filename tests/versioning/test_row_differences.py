"""Differences of rows in a lake of this process: what they read, and what they leave behind."""

from __future__ import annotations

import gzip

import pytest

import anabranch
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import Invalid, MergeConflict, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.versioning.strategies.table_processes.limits import TableLimits

ROWS = {"path": "t.csv.gz", "strategy": "rows"}


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("flights", "local://flights")
        yield lake


def commit(lake, content, path="t.csv"):
    lake.objects.upload("flights", "main", path, [content])
    return lake.commits.commit("flights", "main", message="m", committer="ada").id


def test_temporary_files_are_removed(lake, tmp_path, monkeypatch):
    parent = tmp_path / "temporary"
    parent.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(parent))
    one, other = commit(lake, b"id\n1\n"), commit(lake, b"id\n2\n")
    page = lake.refs.diff_rows("flights", one, other, "t.csv", two_dot=True, amount=10)
    assert [each.kind for each in page.items] == ["removed", "added"]
    with pytest.raises(Invalid):
        lake.refs.diff_rows("flights", one, other, "t.csv", key=["x"], amount=10)
    assert list(parent.iterdir()) == []


def test_what_exceeds_a_limit_leaves_no_file_and_changes_nothing(tmp_path, monkeypatch):
    parent = tmp_path / "temporary"
    parent.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(parent))
    stores = MemoryStore(), LocalBlocks(tmp_path / "block")
    limits = TableLimits(file_bytes=4096)
    with Lake(
        *stores, cache_folder=tmp_path / "cache", signing_secret=b"s" * 32, table_limits=limits
    ) as lake:
        lake.repositories.create("flights", "local://flights")
        contents = [gzip.compress(b"id\n" + b"%d" % last * 9000) for last in (1, 2, 3)]
        commit(lake, contents[0], "t.csv.gz")
        lake.branches.create("flights", "dev", "main")
        head = commit(lake, contents[1], "t.csv.gz")
        lake.objects.upload("flights", "dev", "t.csv.gz", [contents[2]])
        lake.commits.commit("flights", "dev", message="m", committer="ada")
        with pytest.raises(MergeConflict, match=r"a temporary file of more than"):
            lake.refs.merge("flights", "dev", "main", committer="ada", resolutions=[ROWS])
        with pytest.raises(Invalid) as refused:
            lake.refs.diff_rows("flights", "main", "dev", "t.csv.gz", amount=10)
        assert refused.value.kind == "comparison_too_large"
        assert lake.branches.get("flights", "main").commit_id == head
        assert list(parent.iterdir()) == []


def test_an_object_that_was_changed_back_has_no_differences(lake):
    one = commit(lake, b"id\n1\n")
    commit(lake, b"id\n2\n")
    other = commit(lake, b"id\n1\n")
    assert lake.refs.diff_rows("flights", one, other, "t.csv", amount=10).items == []


def test_an_absent_object_is_not_found(lake):
    commit(lake, b"id\n1\n")
    with pytest.raises(NotFound):
        lake.refs.diff_rows("flights", "main", "main", "u.csv", amount=10)
