"""`diff` against a real server."""

from __future__ import annotations

import pytest


@pytest.fixture
def changed(lake):
    """Main and dev have gone apart: both changed b, each has something of its own."""
    lake.commit("main", "base", a="1", b="1", c="1")
    lake.branch("dev")
    lake.commit("dev", "dev", b="dev", d="dev")
    lake.ana.ok("fs", "rm", lake.at("dev/c"))
    lake.commit("dev", "without c")
    lake.commit("main", "main", b="main", e="main")
    return lake


def test_uncommitted_changes(ana, lake):
    lake.commit("main", "base", a="1", b="1")
    assert ana.ok("diff", lake.at("main")).out == ""
    assert ana.ok("diff", lake.at("main"), terminal=True).out == "No changes\n"
    lake.put("main/a", "2")
    lake.put("main/x/y", "2")
    ana.ok("fs", "rm", lake.at("main/b"))
    assert ana.ok("diff", lake.at("main")).rows == [
        ["changed", "a"],
        ["removed", "b"],
        ["added", "x/y"],
    ]
    assert ana.ok("diff", lake.at("main"), terminal=True).lines == [
        "CHANGE     PATH",
        "~ changed  a",
        "- removed  b",
        "+ added    x/y",
        "1 added, 1 removed, 1 changed",
    ]
    assert ana.ok("diff", lake.at("main"), "--prefix", "x/").rows == [["added", "x/y"]]


def test_three_dots(ana, changed):
    ran = ana.ok("diff", changed.at("main"), changed.at("dev"))
    assert ran.rows == [["conflict", "b"], ["removed", "c"], ["added", "d"]]
    ran = ana.ok("diff", changed.at("dev"), "main", "--json")
    assert [(item["type"], item["path"]) for item in ran.json] == [
        ("conflict", "b"),
        ("added", "e"),
    ]


def test_two_way(ana, changed):
    ran = ana.ok("diff", changed.at("main"), "dev", "--two-way")
    assert ran.rows == [["changed", "b"], ["removed", "c"], ["added", "d"], ["removed", "e"]]


def test_errors(ana, lake):
    ran = ana("diff", lake.at("mainn"))
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "hint:  Did you mean main?")
    ran = ana("diff", lake.at("main"), "lakefs://elsewhere/main")
    assert ran.code == 2
