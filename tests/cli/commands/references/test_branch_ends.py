"""`branch-ends` against a real server."""

from __future__ import annotations


def test_rules_come_in_order_and_go(ana, lake):
    lake.commit("main", "first", a="1")
    assert ana.ok("branch-ends", "list", lake.uri).out == ""
    added = ana.ok("branch-ends", "add", lake.uri, "dev-*", "7d")
    assert added.out == "New branches dev-* end after 7d\n"
    ana.ok("branch-ends", "add", lake.uri, "ci:*", "12h", "--hidden")
    ana.ok("branch-ends", "add", lake.uri, "dev-long", "90d", "--first")
    ana.ok("branch-ends", "add", lake.uri, "dev-*", "8d")
    listed = ana.ok("branch-ends", "list", lake.uri, "--json").json
    assert [(each["pattern"], each["expires"], each["hidden"]) for each in listed] == [
        ("dev-long", "90d", False),
        ("dev-*", "8d", False),
        ("ci:*", "12h", True),
    ]
    ana.ok("branch", "create", lake.at("dev-1"), "-s", "main")
    ana.ok("branch", "create", lake.at("dev-2"), "-s", "main", "--expires", "never")
    ending = ana.ok("branch", "list", lake.uri, "--expiring", "--json").json
    assert [each["id"] for each in ending] == ["dev-1"]

    gone = ana.ok("branch-ends", "delete", lake.uri, "dev-*")
    assert gone.out == "New branches dev-* no longer end\n"
    rows = ana.ok("branch-ends", "list", lake.uri).lines
    assert [row.split()[0] for row in rows] == ["dev-long", "ci:*"]


def test_what_is_wrong_is_said(ana, lake):
    ran = ana("branch-ends", "delete", lake.uri, "dev-*")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: the rule 'dev-*' does not exist")
    for arguments in (("[a", "7d"), ("a", "soon"), ("a", "never")):
        assert ana("branch-ends", "add", lake.uri, *arguments).code == 1
    assert ana("branch-ends", "list", "lakefs://nothing-here").code == 1
