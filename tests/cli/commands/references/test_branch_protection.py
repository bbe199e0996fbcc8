"""`branch-protect` against a real server."""

from __future__ import annotations


def test_rules_come_and_go(ana, lake):
    lake.put("main/a", "1")
    assert ana.ok("branch-protect", "list", lake.uri).out == ""
    assert ana.ok("branch-protect", "add", lake.uri, "main").out == "Protected main\n"
    ana.ok("branch-protect", "add", lake.uri, "release-*")
    ana.ok("branch-protect", "add", lake.uri, "main")
    assert ana.ok("branch-protect", "list", lake.uri).rows == [["main", "0"], ["release-*", "0"]]
    ran = ana("commit", lake.at("main"), "-m", "no")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: cannot commit to protected branch")
    assert "merge" in ran.err
    gone = ana.ok("branch-protect", "delete", lake.uri, "main")
    assert gone.out == "No longer protected: main\n"
    listed = ana.ok("branch-protect", "list", lake.uri, "--json").json
    assert listed == [{"pattern": "release-*"}]
    ana.ok("commit", lake.at("main"), "-m", "yes")


def test_what_is_not_there(ana, lake):
    ran = ana("branch-protect", "delete", lake.uri, "main")
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: the rule 'main' does not exist")
    assert ana("branch-protect", "list", "lakefs://nothing-here").code == 1
    ran = ana("branch-protect", "add", lake.uri, "[a")
    assert (ran.code, "invalid value" in ran.err) == (1, True)
