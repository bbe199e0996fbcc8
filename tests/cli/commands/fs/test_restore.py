"""`fs restore`: objects as they were at a reference."""

from __future__ import annotations

import pytest


@pytest.fixture
def changed(lake):
    """A branch with a tag, behind which objects have changed, gone and come."""
    lake.commit("main", "base", **{"data/a": "1", "data/b": "2", "data/same": "s", "other": "o"})
    lake.ana.ok("tag", "create", lake.at("v1"), lake.at("main"))
    lake.put("main/data/a", "11")
    lake.ana.ok("fs", "rm", lake.at("main/data/b"))
    lake.commit("main", "later", other="oo")
    lake.put("main/data/new", "not committed")
    return lake


def test_one_object_is_restored(ana, changed):
    ran = ana.ok("fs", "restore", changed.at("main/data/a"), "--source", "v1", "--json")
    assert ran.json == {"removed": 0, "restored": 1}
    assert changed.read("main/data/a") == b"1"
    ana.ok("fs", "restore", changed.at("main/data/b"), "-s", changed.at("v1"))
    assert changed.read("main/data/b") == b"2"
    assert changed.read("main/data/new") == b"not committed"


def test_a_folder_is_restored_with_what_is_not_committed(ana, changed):
    place = changed.at("main/data/")
    assert ana("fs", "restore", place, "--source", "v1").code == 2  # not confirmed
    assert changed.read("main/data/a") == b"11"
    ran = ana.ok("fs", "restore", place, "--source", "v1", "--yes", "--json")
    assert ran.json == {"removed": 1, "restored": 2}
    assert changed.read("main/data/a") == b"1"
    assert changed.read("main/data/b") == b"2"
    assert ana("fs", "stat", changed.at("main/data/new")).code == 1
    assert changed.read("main/other") == b"oo"
    again = ana.ok("fs", "restore", place, "--source", "v1", "--yes", "--json")
    assert again.json == {"removed": 0, "restored": 0}


def test_mistakes_change_nothing(ana, changed):
    assert ana("fs", "restore", changed.at("main/data/"), "-s", "none", "--yes").code == 1
    assert ana("fs", "restore", changed.at("main"), "--source", "v1").code == 2
    assert ana("fs", "restore", changed.at("main/data/new"), "--source", "v1").code == 1
    assert ana("fs", "restore", changed.at("v1/data/a"), "--source", "main").code == 1
    assert ana("fs", "restore", changed.at("main/a"), "-s", "lakefs://elsewhere/main").code == 2
    assert changed.read("main/data/new") == b"not committed"
    assert changed.read("main/data/a") == b"11"
