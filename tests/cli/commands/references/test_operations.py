"""`op` against a real server."""

from __future__ import annotations


def test_the_log_shows_who_changed_what(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    ana.ok("tag", "create", lake.at("v1"), "main")
    logged = ana.ok("op", "log", lake.uri, "--json").json
    assert [each["action"] for each in logged][:3] == ["createTag", "commit", "commit"]
    assert logged[1]["changes"] == [
        {"type": "branch", "name": "main", "before": first, "after": second}
    ]
    shown = ana.ok("op", "log", lake.uri, "--amount", "1").out
    assert f"tag v1 created at {second[:12]}" in shown
    older = ana.ok("op", "log", lake.uri, "--before", logged[0]["id"], "--json").json
    assert older == logged[1:]

    one = ana.ok("op", "show", lake.uri, logged[1]["id"][:16])
    assert f"branch main {first[:12]} → {second[:12]}" in one.out
    assert ana.ok("op", "show", lake.uri, logged[1]["id"], "--json").json == logged[1]
    assert ana.ok("fs", "cat", lake.at(f"main@{{op:{logged[2]['id']}}}/a")).out == "1"


def test_an_unknown_operation_is_an_error(ana, lake):
    ran = ana("op", "show", lake.uri, "00000000")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: operation not found")


def test_what_was_done_is_taken_back(ana, lake):
    first = lake.commit("main", "first", a="1")
    ana.ok("branch", "create", lake.at("dev"), "--source", "main")
    ana.ok("tag", "create", lake.at("v1"), "main")
    ana.ok("branch", "delete", lake.at("dev"), "--yes")
    deleted = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]
    ana.ok("tag", "delete", lake.at("v1"), "--yes")
    assert f"Restored {lake.at('v1')} at {first}" in ana.ok("tag", "restore", lake.at("v1")).out
    undone = ana.ok("undo", lake.uri, deleted["id"][:16]).out
    assert f"branch dev deleted at {first[:12]}" in undone
    assert ana.ok("branch", "show", lake.at("dev"), "--json").json["commit_id"] == first
    assert "Undone" in ana.ok("op", "show", lake.uri, deleted["id"]).out
    again = ana("undo", lake.uri, deleted["id"])
    assert (again.code, "is undone already" in again.err) == (1, True)
    ana.ok("branch", "delete", lake.at("dev"), "--yes")
    assert (
        f"Restored {lake.at('dev')} at {first}" in ana.ok("branch", "restore", lake.at("dev")).out
    )
    ana.ok("branch", "create", lake.at("other"), "--source", "main")
    assert "branch other created" in ana.ok("undo", lake.uri).out
    names = [each["id"] for each in ana.ok("branch", "list", lake.uri, "--json").json]
    assert names == ["dev", "main"]


def test_all_references_are_restored(ana, lake):
    first = lake.commit("main", "first", a="1")
    then = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    lake.commit("main", "second", a="2")
    ana.ok("branch", "create", lake.at("dev"), "--source", "main")
    ana.ok("op", "restore", lake.uri, then, "--yes")
    names = [each["id"] for each in ana.ok("branch", "list", lake.uri, "--json").json]
    assert names == ["main"]
    assert ana.ok("branch", "show", lake.at("main"), "--json").json["commit_id"] == first


def test_a_restore_says_which_references_and_pull_requests_it_has_changed(ana, lake):
    first = lake.commit("main", "first", a="1")
    ana.ok("branch", "create", lake.at("dev"), "--source", "main")
    lake.commit("dev", "second", b="2")
    pull = ana.ok(*("pr", "create", lake.at("dev"), "main", "--title", "t", "--json")).json["id"]
    then = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    ana.ok("pr", "merge", lake.uri, pull)
    merged = ana.ok("branch", "show", lake.at("main"), "--json").json["commit_id"]
    ana.ok("tag", "create", lake.at("v1"), "main")
    restored = ana.ok("op", "restore", lake.uri, then, "--yes").out.splitlines()
    assert sorted(map(str.strip, restored[1:])) == [
        f"branch main {merged[:12]} → {first[:12]}",
        f"pull request {pull} reopened",
        f"tag v1 deleted at {merged[:12]}",
    ]
    again = ana.ok("op", "restore", lake.uri, then, "--yes", "--json").json
    assert (again["id"], again["restore"]) == (then, None)
    made = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    ana.ok("undo", lake.uri, made)
    assert ana.ok("branch", "show", lake.at("main"), "--json").json["commit_id"] == merged
    repeated = ana.ok("op", "restore", lake.uri, then, "--yes", "--json").json["restore"]
    assert {each["name"] for each in repeated["changes"]} == {"main", "v1"}


def test_an_operation_is_forgotten_and_days_are_set(ana, lake):
    lake.commit("main", "first", a="1")
    ana.ok("branch", "create", lake.at("dev"), "--source", "main")
    ana.ok("branch", "delete", lake.at("dev"), "--yes")
    deleted = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    ana.ok("op", "forget", lake.uri, deleted, "--yes")
    assert "Given up" in ana.ok("op", "show", lake.uri, deleted).out
    refused = ana("branch", "restore", lake.at("dev"))
    assert (refused.code, "can no longer be undone" in refused.err) == (1, True)

    assert "for 30 days" in ana.ok("op", "days", lake.uri).out
    assert ana.ok("op", "days", lake.uri, "--set", "1").out.endswith("for 1 day\n")
    assert ana.ok("op", "days", lake.uri, "--json").json == {"undo_days": 1}
    assert ana("op", "days", lake.uri, "--set", "-1").code == 2
    assert ana("op", "days", lake.uri, "--set", "5", "--default").code == 2
    assert "for 30 days" in ana.ok("op", "days", lake.uri, "--default").out


def test_settings_are_shown_and_taken_back(ana, lake):
    ana.ok("op", "days", lake.uri, "--set", "3")
    logged = ana.ok("op", "log", lake.uri, "--amount", "1")
    assert "undo days set" in logged.out
    operation = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    shown = ana.ok("op", "show", lake.uri, operation).out
    assert ("undo days set" in shown, "After" in shown, "3" in shown) == (True, True, True)
    assert "undo days set" in ana.ok("undo", lake.uri).out
    assert ana.ok("op", "days", lake.uri, "--json").json == {"undo_days": 30}


def test_a_repository_comes_back(ana, lake):
    lake.put("main/a", "not committed")
    ana.ok("repo", "delete", lake.uri, "--yes")
    assert lake.name in ana.ok("repo", "deleted").out
    assert f"Restored {lake.uri}" in ana.ok("repo", "restore", lake.uri).out
    assert ana.ok("fs", "cat", lake.at("main/a")).out == "not committed"

    ana.ok("repo", "delete", lake.uri, "--yes")
    logged = ana.ok("op", "log", "--amount", "20", "--json").json
    (deleted,) = [
        each["id"]
        for each in logged
        if each["settings"][0]["name"] == lake.name
        and each["settings"][0]["after"] is None
        and not each["undone_at"]
    ][:1]
    assert f"repository {lake.name} deleted" in ana.ok("op", "show", deleted).out
    assert f"repository {lake.name} deleted" in ana.ok("undo", deleted).out
    assert ana.ok("fs", "cat", lake.at("main/a")).out == "not committed"

    both = ana("repo", "delete", lake.uri, "--yes", "--forget", "--purge")
    assert "exclude each other" in both.err
    ana.ok("repo", "delete", lake.uri, "--yes", "--forget")
    assert lake.name not in ana.ok("repo", "deleted").out
    assert "no deleted repository" in ana("repo", "restore", lake.uri).err
    assert "no deleted repository" in ana("repo", "forget", lake.uri, "--yes").err


def test_an_operation_needs_its_id(ana, lake):
    assert "which operation?" in ana("op", "show", lake.uri).err
    assert "is no address" in ana("undo", "flights", "ffe3").err
