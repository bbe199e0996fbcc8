"""`workspace` and branches that end, against a real server."""

from __future__ import annotations

import pytest


@pytest.fixture
def place(ana, lake):
    """The address of a new workspace."""
    lake.commit("main", "first", **{"in/a": "1"})
    words = ("--source", "main", "--writable", "out/**", "--readable", "in/**", "--run-id", "7")
    ran = ana.ok("workspace", "create", lake.uri, *words, "--purpose", "Clean", "--json")
    return f"{lake.uri}/{ran.json['id']}"


def test_keys_are_shown_at_creation_alone(ana, lake, place):
    ran = ana.ok(
        *("workspace", "create", lake.uri, "-s", "main", "--expires", "1h", "--name", "mine"),
        *("--metadata", "ticket=7"),
    )
    shown = dict(map(str.strip, line.split(":", 1)) for line in ran.lines)
    assert shown["Workspace"] == f"{lake.uri}/mine"
    assert (shown["Reads"], shown["Writes"]) == ("everything", "nothing")
    assert shown["Token"].startswith("workspace-")
    assert shown["Access key"]
    assert shown["Secret"]
    ran = ana.ok("workspace", "show", f"{lake.uri}/mine", "--json")
    assert ran.json["metadata"] == {"ticket": "7"}
    assert "token" not in ran.json
    rows = ana.ok("workspace", "list", lake.uri).rows
    assert [(row[0], row[1], *row[4:]) for row in rows] == [
        ("mine", "open", "", ""),
        (place.rpartition("/")[2], "open", "7", "Clean"),
    ]


def test_checkpoints_diff_and_proposal(ana, lake, place):
    name = place.rpartition("/")[2]
    lake.put(f"{name}/out/a", "1")
    ran = ana.ok("workspace", "checkpoint", place, "one", "--json")
    first = ran.json["commit_id"]
    lake.put(f"{name}/out/b", "2")
    assert ana.ok("workspace", "diff", place).rows == [["added", "out/a"], ["added", "out/b"]]
    ran = ana.ok("workspace", "restore", place, "one", "--yes")
    assert ran.out == f"Restored {place} to one at {first}\n"
    assert ana.ok("workspace", "diff", place).rows == [["added", "out/a"]]
    ran = ana.ok("workspace", "propose", place, "--json")
    shown = ana.ok("pr", "show", lake.uri, ran.json["id"]).out
    assert "Title:        Clean" in shown
    assert ana.ok("workspace", "show", place, "--json").json["state"] == "proposed"
    assert ana("workspace", "propose", place).code == 1
    merged = ana.ok("workspace", "merge", place, "--json").json["commit_id"]
    assert lake.head("main") == merged
    ana.ok("workspace", "discard", place, "--yes")
    assert ana("workspace", "show", place).code == 1
    assert ana("branch", "show", place).code == 1


def test_what_a_restore_has_dropped_returns(ana, lake, place):
    name = place.rpartition("/")[2]
    ran = ana("workspace", "undo", place)
    assert ran.code == 1
    assert "there is no such operation" in ran.err
    lake.put(f"{name}/out/a", "1")
    ana.ok("workspace", "restore", place, "source", "--yes")
    assert ana.ok("workspace", "diff", place).out == ""
    undone = ana.ok("workspace", "undo", place, "--json").json
    assert undone["action"] == "restoreWorkspace"
    assert ana.ok("workspace", "diff", place).rows == [["added", "out/a"]]
    ran = ana("workspace", "undo", place, undone["id"])
    assert ran.code == 1
    assert "is undone already" in ran.err
    ana.ok("workspace", "checkpoint", place, "one")
    ran = ana.ok("workspace", "undo", place)
    assert ran.out.startswith("Undid ")
    assert f"branch {name} " in ran.out
    created = ana.ok("op", "log", lake.uri, "--json").json[-1]["id"]
    assert ana("workspace", "undo", place, created).code == 1
    assert ana("workspace", "undo", lake.uri).code == 2


def test_branches_that_end(ana, lake):
    lake.commit("main", "first", a="1")
    ana.ok("branch", "create", lake.at("late"), "-s", "main", "--expires", "7d")
    ana.ok("branch", "create", lake.at("soon"), "-s", "main", "--expires", "1h")
    rows = ana.ok("branch", "list", lake.uri, "--expiring").rows
    assert [row[0] for row in rows] == ["soon", "late"]
    assert "Expires: " in ana.ok("branch", "show", lake.at("soon")).out
    assert (
        ana.ok("branch", "expire", lake.at("soon"), "9d").out == f"{lake.at('soon')} ends in 9d\n"
    )
    rows = ana.ok("branch", "list", lake.uri, "--expiring").rows
    assert [row[0] for row in rows] == ["late", "soon"]
    ana.ok("branch", "expire", lake.at("late"), "never")
    rows = ana.ok("branch", "list", lake.uri, "--expiring", "--json").json
    assert [row["id"] for row in rows] == ["soon"]


@pytest.mark.parametrize("time", ["", "7", "d", "-1d", "0h", "1y", "99999w", "never"])
def test_a_time_that_is_none_is_refused(ana, lake, time):
    lake.commit("main", "first", a="1")
    ran = ana("workspace", "create", lake.uri, "-s", "main", f"--expires={time}")
    assert ran.code == 1
    assert "no time" in ran.err


def test_wrong_metadata_is_refused(ana, lake):
    ran = ana("workspace", "create", lake.uri, "-s", "main", "--metadata", "ticket")
    assert ran.code == 2
    assert "KEY=VALUE" in ran.err
