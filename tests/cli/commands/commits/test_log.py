"""`log` against a real server."""

from __future__ import annotations

import datetime as dt
import re
from inspect import cleandoc

import pytest


@pytest.fixture
def story(lake):
    """Two branches of main, each merged; returns the ids by message."""
    ids = {"base": lake.commit("main", "base", a="1")}
    lake.branch("one")
    lake.branch("two")
    ids["one"] = lake.commit("one", "one", b="1")
    ids["two"] = lake.commit("two", "two", c="1")
    ids["merge one"] = lake.merge("one", "main", "-m", "merge one")
    ids["merge two"] = lake.merge("two", "main", "-m", "merge two")
    return lake, ids


def picture(ran):
    return [re.split("  [0-9a-f]{12} ", line)[0] for line in ran.lines]


def messages(ran):
    return [commit["message"] for commit in ran.json]


def test_the_text(ana, lake):
    first = lake.commit("main", "first\n\nwith more", a="1")
    commit = ana.ok("show", lake.at("main"), "--json").json
    lines = ana.ok("log", lake.at("main")).lines
    date = dt.datetime.fromtimestamp(commit["creation_date"], dt.UTC)
    assert lines[:7] == [
        f"commit {first}",
        f"Committer: {commit['committer']}",
        f"Date:      {date:%Y-%m-%dT%H:%M:%SZ}",
        "",
        "    first",
        "    ",
        "    with more",
    ]
    assert lines[7:9] == ["", f"commit {commit['parents'][0]}"]
    assert "    Repository created" in lines
    tree = ana.ok("log", lake.at("main"), "--amount", "1", "--show-meta-range-id").lines[1]
    assert tree == f"Metarange: {commit['meta_range_id']}"


def test_the_graph(ana, story):
    lake, ids = story
    ana.ok("tag", "create", lake.at("v1"), ids["base"])
    ran = ana.ok("log", lake.at("main"), "--graph")
    assert "\n".join(picture(ran)) == cleandoc("""
        ●
        ├─╮
        │ ●
        ● │
        ├─│─╮
        ├─╯ │
        │   ●
        ├───╯
        ●
        ●
    """)
    assert f"{ids['merge two'][:12]} (main) merge two (" in ran.lines[0]
    assert f"{ids['base'][:12]} (tag: v1) base (" in ran.lines[-2]


def test_the_graph_of_a_straight_history(ana, lake):
    lake.commit("main", "one", a="1")
    lake.commit("main", "two", a="2")
    lines = ana.ok("log", lake.at("main"), "--graph").lines
    assert [line[:3] for line in lines] == ["●  "] * 3


def test_filters(ana, story):
    lake, _ = story
    main = lake.at("main")

    def log(*options):
        return messages(ana.ok("log", main, "--json", *options))

    assert set(log()) == {"merge two", "merge one", "two", "one", "base", "Repository created"}
    assert log("--first-parent") == ["merge two", "merge one", "base", "Repository created"]
    assert set(log("--no-merges")) == {"two", "one", "base", "Repository created"}
    assert log("--objects", "b") == ["one"]
    assert set(log("--objects", "b", "--objects", "a")) == {"one", "base"}
    assert log("--prefixes", "c") == ["two"]
    assert log("--since", "2999-01-01") == []
    assert len(log("--since", "1999-01-01T00:00:00Z")) == 6
    assert log("--first-parent", "--amount", "2") == ["merge two", "merge one"]
    assert log("--first-parent", "--stop-at", story[1]["merge one"]) == ["merge two", "merge one"]


def test_graphs_of_filtered_histories(ana, story):
    lake, _ = story

    def graph(*options):
        return picture(ana.ok("log", lake.at("main"), "--graph", *options))

    assert graph("--first-parent") == ["●"] * 4
    assert graph("--objects", "a") == ["●"]
    # without their merges, the two branches are two ends of history
    assert graph("--no-merges") == ["●", "│ ●", "├─╯", "●", "●"]


def test_pages(ana, story):
    lake, ids = story
    ran = ana.ok("log", lake.at("main"), "--first-parent", "--amount", "1")
    assert ran.err == f"There is more: add --after '{ids['merge two']}'\n"
    ran = ana.ok("log", lake.at("main"), "--first-parent", "--amount", "1", "--limit")
    assert ran.err == ""
    words = ["--first-parent", "--after", ids["merge two"], "--json"]
    assert messages(ana.ok("log", lake.at("main"), *words))[0] == "merge one"
    ran = ana.ok("log", lake.at("main"), "--no-merges", "--amount", "1")
    assert ran.err.startswith("There is more")


def test_errors(ana, lake):
    assert ana("log", lake.at("main"), "--since", "yesterday").code == 2
    ran = ana("log", lake.at("mainly"))
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "hint:  Did you mean main?")
