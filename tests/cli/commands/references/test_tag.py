"""`tag` against a real server."""

from __future__ import annotations


def test_from_creation_to_deletion(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    made = ana.ok("tag", "create", lake.at("v1.0"), lake.at("main~1"))
    assert made.out == f"Created {lake.at('v1.0')} at {first}\n"
    assert ana.ok("tag", "create", lake.at("v2.0"), "main", "--json").json["commit_id"] == second

    assert ana.ok("tag", "list", lake.uri).rows == [["v1.0", first], ["v2.0", second]]
    assert ana.ok("tag", "list", lake.uri, "--after", "v1.0").rows == [["v2.0", second]]
    assert ana.ok("tag", "show", lake.at("v1.0")).out == f"Tag:    v1.0\nCommit: {first}\n"
    assert lake.read("v1.0/a") == b"1"

    assert ana.ok("tag", "delete", lake.at("v1.0"), "-y").out == f"Deleted {lake.at('v1.0')}\n"
    assert ana.ok("tag", "list", lake.uri, "--json").json == [{"id": "v2.0", "commit_id": second}]


def test_force_moves_a_tag(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    ana.ok("tag", "create", lake.at("v"), "main~1")
    ran = ana("tag", "create", lake.at("v"), "main")
    assert (ran.code, "not unique" in ran.err) == (1, True)
    ran = ana("tag", "create", lake.at("v"), "nothing", "--force")
    assert ran.code == 1
    assert ana.ok("tag", "show", lake.at("v"), "--json").json["commit_id"] == first
    ana.ok("tag", "create", lake.at("v"), "main", "-f")
    assert ana.ok("tag", "show", lake.at("v"), "--json").json["commit_id"] == second
    ana.ok("tag", "create", lake.at("new"), "main", "-f")


def test_errors(ana, lake):
    ran = ana("tag", "show", lake.at("v1"))
    assert ran.err.splitlines()[0] == "error: tag not found"
    ran = ana("tag", "create", lake.at("bad..name"), "main")
    assert ran.code == 1
    assert "validation error" in ran.err or "invalid" in ran.err
