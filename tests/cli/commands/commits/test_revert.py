"""`branch revert` and `cherry-pick` against a real server, and names that stand for others."""

from __future__ import annotations

import pytest


def test_a_revert_undoes_commits_in_order(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", b="2")
    third = lake.commit("main", "third", a="3")
    # `main~1` is what it was before the first revert
    ran = ana.ok("branch", "revert", lake.at("main"), "main", "main~1", "-y", "--json")
    assert ran.json == {"reverted": [third, second], "commit_id": lake.head("main")}
    assert lake.read("main/a") == b"1"
    listed = ana.ok("fs", "ls", lake.at("main/"), "--json").json
    assert [item["path"] for item in listed] == ["a"]
    log = ana.ok("log", lake.at("main"), "--json").json
    assert [commit["id"] for commit in log[2:5]] == [third, second, first]


def test_a_revert_of_what_does_not_exist_undoes_nothing(ana, lake):
    lake.commit("main", "first", a="1")
    head = lake.head("main")
    ran = ana("branch", "revert", lake.at("main"), "main", "none", "-y")
    assert ran.code == 1
    assert lake.head("main") == head
    assert ana("branch", "revert", lake.at("main"), "-y").code == 2
    assert ana("branch", "revert", lake.at("main"), "main").code == 2  # not confirmed
    assert ana("branch", "revert", lake.at("main"), "lakefs://other-sea/main", "-y").code == 2
    assert lake.head("main") == head


def test_reverts_of_which_one_fails_undo_nothing(ana, lake):
    first = lake.commit("main", "first", a="1")
    head = lake.commit("main", "second", a="2")
    ran = ana("branch", "revert", lake.at("main"), "main", first, "main", "-y")
    assert ran.code == 1
    assert lake.head("main") == head


def test_a_merge_is_reverted_relative_to_a_parent(ana, lake):
    lake.commit("main", "first", a="1")
    lake.branch("side")
    lake.commit("side", "side", b="2")
    lake.merge("side", "main")
    assert ana("branch", "revert", lake.at("main"), "main", "-y").code == 1
    assert ana("branch", "revert", lake.at("main"), "main", "-m", "0", "-y").code == 2
    ana.ok("branch", "revert", lake.at("main"), "main", "-m", "1", "-y")
    assert [row[-1] for row in ana.ok("fs", "ls", lake.at("main/")).rows] == ["a"]


def test_a_commit_is_applied_to_another_branch(ana, lake):
    lake.commit("main", "first", a="1")
    lake.branch("side")
    picked = lake.commit("side", "the change", b="2")
    lake.commit("side", "another", c="3")
    ran = ana.ok("cherry-pick", lake.at("side~1"), lake.at("main"), "--json")
    assert ran.json["id"] == lake.head("main")
    assert ran.json["message"] == "the change"
    assert ran.json["metadata"]["cherry-pick-origin"] == picked
    assert lake.read("main/b") == b"2"
    ran = ana.ok("cherry-pick", lake.at("side"), "main", "--message", "mine")
    assert ran.lines[0] == f"Applied {lake.at('side')} to {lake.at('main')}"
    assert ana.ok("show", "commit", lake.at("main"), "--json").json["message"] == "mine"
    assert ana("cherry-pick", lake.at("none"), "main").code == 1
    assert ana("cherry-pick", lake.at("side"), "lakefs://other-sea/main").code == 2


@pytest.mark.parametrize("listing", ["ls", "list"])
@pytest.mark.parametrize("removal", ["rm", "remove", "delete"])
@pytest.mark.sample(3)
def test_short_names_stand_for_long_ones(ana, lake, listing, removal):
    lake.commit("main", "first", a="1")
    lake.branch("side")
    ana.ok("tag", "create", lake.at("v1"), "main")
    for noun in ("branch", "tag"):
        before = ana.ok(noun, listing, lake.uri).rows
        name = "side" if noun == "branch" else "v1"
        ana.ok(noun, removal, lake.at(name), "-y")
        after = ana.ok(noun, listing, lake.uri).rows
        assert [row for row in before if row not in after] == [[name, lake.head("main")]]
    name = lake.uri.removeprefix("lakefs://")
    found = ana.ok("repo", listing, "--prefix", name).rows
    assert [row[0].removeprefix("lakefs://") for row in found] == [name]
    ana.ok("fs", removal, lake.at("main/a"))
    assert ana.ok("fs", listing, lake.at("main/")).rows == []
    assert ana("tag", "l", lake.uri).code == 2
