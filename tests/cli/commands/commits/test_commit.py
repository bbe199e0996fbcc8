"""`commit` and `show` against a real server."""

from __future__ import annotations


def test_a_commit_and_its_details(ana, lake):
    parent = lake.head("main")
    lake.put("main/a", "1")
    ran = ana.ok("commit", lake.at("main"), "-m", "First data", "--meta", "k=v=w", "--meta", "a=b")
    commit = ana.ok("show", lake.at("main"), "--json").json
    assert ran.lines[0] == f"Committed to {lake.at('main')}"
    assert ran.lines[1:] == ana.ok("show", lake.at("main")).lines
    date = ran.lines[4].split()[1]
    assert ran.lines[1:] == [
        f"Commit:    {commit['id']}",
        "Message:   First data",
        f"Committer: {commit['committer']}",
        f"Date:      {date}",
        f"Parents:   {parent}",
        "Meta a:    b",
        "Meta k:    v=w",
    ]
    assert commit["metadata"] == {"a": "b", "k": "v=w"}


def test_show(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    assert ana.ok("show", lake.at("main~1"), "--json").json["id"] == first
    assert ana.ok("show", "commit", lake.at(second[:10]), "--json").json["id"] == second
    tree = ana.ok("show", lake.at("main"), "--json").json["meta_range_id"]
    assert ana.ok("show", lake.at("main"), "--show-meta-range-id").lines[-1] == f"Metarange: {tree}"
    ran = ana("show", lake.at("mai"))
    assert (ran.code, ran.err.splitlines()[-1]) == (1, "hint:  Did you mean main?")


def test_nothing_to_commit(ana, lake):
    ran = ana("commit", lake.at("main"), "-m", "nothing", "--json")
    assert (ran.code, ran.error["kind"]) == (1, "no_changes")
    assert "no changes" in ran.error["message"]
    assert "--allow-empty-commit" in ran.error["hint"]
    ana.ok("commit", lake.at("main"), "-m", "nothing", "--allow-empty-commit")
    assert ana.ok("show", lake.at("main"), "--json").json["message"] == "nothing"


def test_messages(ana, lake):
    lake.put("main/a", "1")
    ran = ana("commit", lake.at("main"))
    assert (ran.code, "needs a message" in ran.err) == (2, True)
    ran = ana("commit", lake.at("main"), "-m", "x", "--meta", "nonsense")
    assert (ran.code, "is not KEY=VALUE" in ran.err) == (2, True)
    ran = ana("commit", lake.at("main"), "-m", "x", "--meta", "a=1", "--meta", "a=2")
    assert (ran.code, "given twice" in ran.err) == (2, True)
    assert ana.ok("diff", lake.at("main")).rows == [["added", "a"]]
    ana.ok("commit", lake.at("main"), "--allow-empty-message")
    assert ana.ok("show", lake.at("main"), "--json").json["message"] == ""
