"""`rebase`, `annotate`, `bisect`, hard resets and filters of `log` against a real server."""

from __future__ import annotations

import sys

import pytest


def test_a_rebase(ana, lake):
    lake.commit("main", "first", a="1")
    lake.branch("side")
    lake.commit("side", "mine", b="1")
    lake.commit("side", "also in main", c="1")
    base = lake.commit("main", "theirs", c="1")
    assert ana("rebase", lake.at("side"), "main").code == 2  # not confirmed
    ran = ana.ok("rebase", lake.at("side"), "main", "-y")
    head = lake.head("side")
    assert ran.out == (
        f"Rebased {lake.at('side')} onto main at {head}: 1 commit replayed, "
        "1 dropped that the new base has already\n"
    )
    assert ana.ok("show", lake.at("side"), "--json").json["parents"] == [base]
    again = ana.ok("rebase", lake.at("side"), lake.at("main"), "-y", "--json").json
    assert again == {"commit_id": head, "replayed": 0, "dropped": 0}


def test_a_rebase_with_a_conflict_changes_nothing(ana, lake):
    lake.commit("main", "first", a="1")
    lake.branch("side")
    head = lake.commit("side", "mine", a="2")
    lake.commit("main", "theirs", a="3")
    ran = ana("rebase", lake.at("side"), "main", "-y")
    assert ran.code == 1
    assert head in ran.err
    assert lake.head("side") == head


def test_a_hard_reset_moves_the_branch(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    assert ana("branch", "reset", lake.at("main"), "--to", "main~1").code == 2
    assert ana("branch", "reset", lake.at("main"), "--to", "x", "--prefix", "a", "-y").code == 2
    assert ana("branch", "reset", lake.at("main"), "--to", "none", "-y").code == 1
    lake.put("main/b", "1")
    assert ana("branch", "reset", lake.at("main"), "--to", "main~1", "-y").code == 1
    assert lake.head("main") == second
    ana.ok("branch", "reset", lake.at("main"), "-y")
    ran = ana.ok("branch", "reset", lake.at("main"), "--to", "main~1", "-y")
    assert ran.out == f"Moved {lake.at('main')} to {first}\n"
    assert lake.head("main") == first


def test_annotations_name_the_last_commit_of_each_object(ana, lake):
    first = lake.commit("main", "first\nmore", a="1")
    lake.put("main/d/x", "1")
    lake.put("main/d/y", "1")
    second = lake.commit("main", "second")
    lake.put("main/d/y", "2")
    third = lake.commit("main", "third")
    rows = ana.ok("annotate", lake.at("main/")).rows
    assert [(row[0], row[3], row[4]) for row in rows] == [
        (first, "a", "first"),
        (third, "d/", "third"),
    ]
    rows = ana.ok("annotate", lake.at("main/d/"), "-r").rows
    assert [(row[0], row[3]) for row in rows] == [(second, "d/x"), (third, "d/y")]
    listed = ana.ok("annotate", lake.at("main~1/"), "-r", "--json").json
    assert [item["commit"]["id"] for item in listed] == [first, second, second]
    assert ana("annotate", lake.at("none/")).code == 1


@pytest.fixture
def history(lake):
    """Returns ten commits, of which the seventh is the first with more than five flights."""
    return [lake.commit("main", f"day {day}", flights=f"{day}") for day in range(10)]


def test_a_bisection_by_hand(ana, lake, history):
    ran = ana.ok("bisect", "start", lake.at("main"), history[0], "--json").json
    assert ran["remaining"] == 8
    steps = 0
    while "first_bad" not in ran:
        is_bad = int(lake.read(f"{ran['next']['id']}/flights")) > 5
        ran = ana.ok("bisect", "bad" if is_bad else "good", "--json").json
        steps += 1
    assert [each["id"] for each in ran["first_bad"]] == [history[6]]
    assert steps <= 4
    assert len(ana.ok("bisect", "log").lines) == steps
    assert ana("bisect", "good").code == 1  # nothing is left to test
    assert [row["id"] for row in ana.ok("bisect", "view", "--json").json] == [history[6]]
    ana.ok("bisect", "reset")
    ran = ana("bisect", "good")
    assert (ran.code, "bisect start" in ran.err) == (1, True)
    assert ana.ok("bisect", "reset").code == 0


def test_a_bisection_by_a_command(ana, lake, history, tmp_path):
    script = tmp_path / "check.py"
    script.write_text(
        "import os, sys\n"
        "assert sys.argv[1] == os.environ['ANABRANCH_BISECT_COMMIT']\n"
        f"ids = {history!r}\n"
        "number = ids.index(sys.argv[1].rpartition('/')[2])\n"
        "sys.exit(125 if number == 5 else number > 5)\n"
    )
    ana.ok("bisect", "start", lake.at("main"), history[0])
    ran = ana.ok("bisect", "run", "--", sys.executable, script, "{}")
    first = history[6]
    assert f"{lake.at(first)} is the first bad commit: day 6" in ran.out or (
        ran.out.count("may be the first bad commit") == 2
    )
    ana.ok("bisect", "start", lake.at("main"), history[0])
    ran = ana("bisect", "run", "--", sys.executable, "-c", "import os; os._exit(130)")
    assert (ran.code, "130" in ran.err) == (1, True)
    assert ana("bisect", "run", "no-such-program").code == 1


def test_invalid_bisections_are_refused(ana, lake, history):
    assert ana("bisect", "start", lake.at(history[0]), "main").code == 2
    assert ana("bisect", "start", lake.at("none"), "main").code == 1
    assert ana("bisect", "start", lake.at("main")).code == 2
    ana.ok("bisect", "start", lake.at("main"), history[0])
    assert ana("bisect", "good", history[0]).code == 2
    assert ana("bisect", "good", "main").code == 2
    assert ana("bisect", "good", "lakefs://other-sea/main").code == 2


def test_filters_of_log(ana, lake):
    lake.commit("main", "Load May", a="1")
    ana.ok("fs", "upload", "-s", "-", lake.at("main/b"), stdin="1")
    ana.ok("commit", lake.at("main"), "-m", "Load June", "--meta", "job=7", "--meta", "by=ada")

    def messages(*options):
        return [each["message"] for each in ana.ok("log", lake.at("main"), "--json", *options).json]

    assert messages("--message", "load") == ["Load June", "Load May"]
    assert messages("--message", "may") == ["Load May"]
    assert messages("--meta", "job=7", "--meta", "by=ada") == ["Load June"]
    assert messages("--meta", "job=8") == []
    assert messages("--committer", "nobody-of-that-name") == []
    assert messages("--until", "2001-01-01") == []
    assert len(messages("--until", "2999-01-01")) == 3
    assert messages("--message", "load", "--amount", "1") == ["Load June"]
    assert ana("log", lake.at("main"), "--meta", "job").code == 2
    assert ana("log", lake.at("main"), "--until", "yesterday").code == 2
