"""Differences of rows in a lake of this process: what they read, and what they leave behind."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.errors import Invalid, NotFound


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


def test_an_object_that_was_changed_back_has_no_differences(lake):
    one = commit(lake, b"id\n1\n")
    commit(lake, b"id\n2\n")
    other = commit(lake, b"id\n1\n")
    assert lake.refs.diff_rows("flights", one, other, "t.csv", amount=10).items == []


def test_an_absent_object_is_not_found(lake):
    commit(lake, b"id\n1\n")
    with pytest.raises(NotFound):
        lake.refs.diff_rows("flights", "main", "main", "u.csv", amount=10)
