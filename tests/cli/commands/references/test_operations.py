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
