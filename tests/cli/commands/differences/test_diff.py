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


@pytest.fixture
def tables(lake):
    lake.commit("main", "base", **{"t.csv": "id,a,b\n1,x,y\n2,x,y\n3,x,y\n"})
    lake.branch("dev")
    lake.commit("dev", "dev", **{"t.csv": 'id,a,b\n1,x,\n3,p,q\n4,"1\n2",\n'})
    lake.commit("main", "main", **{"t.csv": "id,a,b\n2,x,y\n3,x,y\n"})
    return lake


def test_rows_of_a_table(ana, tables):
    rows = ("diff", tables.at("main"), "dev", "--rows", "t.csv")
    changed = ["changed", 'id="3"', 'a: "x" -> "p", b: "y" -> "q"']
    removed = ["removed", 'id="2"', 'a="x", b="y"']
    added = ["added", 'id="4"', 'a="1\\n2", b=null']
    assert ana.ok(*rows).rows == [
        ["changed", 'id="1"', 'b: "y" -> null'],
        removed,
        changed,
        added,
    ]
    assert ana.ok(*rows, "--two-way", "--key", "id").rows == [
        ["added", 'id="1"', 'a="x", b=null'],
        removed,
        changed,
        added,
    ]
    last = "1 added, 1 removed, 2 changed; rows matched by id (found)"
    assert ana.ok(*rows, terminal=True).lines[-2:] == [last, "Encoding: UTF-8."]
    assert ana.ok(*rows, "--key", "id", terminal=True).lines[-2] == last.removesuffix(" (found)")
    found = ana.ok(*rows, "--json").json
    assert [each["kind"] for each in found] == ["changed", "removed", "changed", "added"]
    assert found[2]["columns"] == ["a", "b"]


@pytest.mark.slow
def test_whole_rows_of_a_table(ana, tables):
    tables.commit("dev", "more", **{"w.csv": "a,b\nx,\nx,\ny,z\n"})
    rows = ("diff", tables.at("main"), "dev", "--rows", "w.csv")
    expected = [["added", "2 times", 'a="x", b=null'], ["added", "1 time", 'a="y", b="z"']]
    assert ana.ok(*rows).rows == ana.ok(*rows, "--whole-rows").rows == expected
    assert ana.ok(*rows, terminal=True).lines[-2] == "2 added; whole rows compared"
    assert [each["count"] for each in ana.ok(*rows, "--json").json] == [2, 1]


def test_rows_that_are_not_committed(ana, tables):
    rows = ("diff", tables.at("dev"), "--rows", "t.csv", "--key", "id")
    assert ana.ok(*rows).out == ""
    tables.put("dev/t.csv", "id,a,b\n1,x,\n3,p,q\n")
    assert ana.ok(*rows).rows == [["removed", 'id="4"', 'a="1\\n2", b=null']]


@pytest.mark.slow
def test_long_cells_are_shortened_and_listings_have_all_pages(ana, tables):
    lines = "".join(f"{number},{'x' * 100},\n" for number in range(1000, 2100))
    tables.commit("dev", "more", **{"more.csv": f"id,a,b\n{lines}"})
    found = ana.ok("diff", tables.at("main"), "dev", "--rows", "more.csv").rows
    assert len(found) == 1100
    assert found[-1] == ["added", 'id="2099"', 'a="' + "x" * 58 + "\u2026, b=null"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("dev", "--rows", "absent.csv"), 1, "not found"),
        (("dev", "--rows", "t.csv", "--key", "nope"), 1, "has no key column 'nope'"),
        (("dev", "--rows", "t.csv", "--format", "parquet"), 1, "cannot be read as Parquet"),
        (("dev", "--rows", "t.csv", "--prefix", "t"), 2, "exclude each other"),
        (("dev", "--key", "id"), 2, "--key, --whole-rows and --format need --rows"),
        (("dev", "--format", "csv"), 2, "--key, --whole-rows and --format need --rows"),
        (("dev", "--whole-rows"), 2, "--key, --whole-rows and --format need --rows"),
        (("dev", "--rows", "t.csv", "--key", "id", "--whole-rows"), 2, "exclude each other"),
    ],
)
@pytest.mark.sample(2)
def test_row_differences_that_are_refused(ana, tables, options, code, message):
    ran = ana("diff", tables.at("main"), *options)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
