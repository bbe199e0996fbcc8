"""`branch` against a real server."""

from __future__ import annotations


def test_from_creation_to_deletion(ana, lake):
    first = lake.commit("main", "first", a="1")
    second = lake.commit("main", "second", a="2")
    made = ana.ok("branch", "create", lake.at("dev:joe-1"), "--source", "main~1")
    assert made.out == f"Created {lake.at('dev:joe-1')} at {first}\n"
    ana.ok("branch", "create", lake.at("other"), "-s", lake.at("main"))

    ran = ana.ok("branch", "list", lake.uri)
    assert ran.rows == [["dev:joe-1", first], ["main", second], ["other", second]]
    ran = ana.ok("branch", "list", lake.uri, terminal=True)
    assert ran.lines == [
        "BRANCH     COMMIT",
        f"dev:joe-1  {first[:12]}",
        f"main       {second[:12]}",
        f"other      {second[:12]}",
    ]
    ran = ana.ok("branch", "list", lake.uri, "--prefix", "m", "--json")
    assert [(item["id"], item["commit_id"]) for item in ran.json] == [("main", second)]

    assert ana.ok("branch", "show", lake.at("main")).out == f"Branch: main\nCommit: {second}\n"
    ran = ana.ok("branch", "delete", lake.at("other"), "--yes")
    assert ran.out == f"Deleted {lake.at('other')}\n"
    assert ana("branch", "show", lake.at("other")).code == 1


def test_creation_as_json(ana, lake):
    ran = ana.ok("branch", "create", lake.at("b"), "-s", "main", "--json")
    assert ran.json == {"id": "b", "commit_id": lake.head("main")}


def test_reset(ana, lake):
    lake.commit("main", "first", a="1")
    for name in ("a", "b/x", "b/y", "c"):
        lake.put(f"main/{name}", "new")

    def changed() -> list[str]:
        return [row[1] for row in ana.ok("diff", lake.at("main")).rows]

    assert changed() == ["a", "b/x", "b/y", "c"]
    ran = ana.ok("branch", "reset", lake.at("main"), "--object", "c", "-y")
    assert ran.out == f"Discarded the uncommitted changes of 'c' on {lake.at('main')}\n"
    assert changed() == ["a", "b/x", "b/y"]
    ana.ok("branch", "reset", lake.at("main"), "--prefix", "b/", "-y")
    assert changed() == ["a"]
    ana.ok("branch", "reset", lake.at("main"), "-y")
    assert changed() == []
    assert lake.read("main/a") == b"1"


def test_errors(ana, lake):
    ran = ana("branch", "create", lake.at("b"), "-s", "mian")
    assert ran.code == 1
    assert "hint:  Did you mean main?" in ran.err
    ran = ana("branch", "show", lake.at("mian"))
    assert ran.err.splitlines()[0] == "error: branch not found"
    assert ran.err.splitlines()[-1] == "hint:  Did you mean main?"
    ran = ana("branch", "show", lake.at("zzz"))
    assert f"`anabranch branch list {lake.uri}`" in ran.err
    ran = ana("branch", "delete", lake.at("main"), "-y")
    assert "hint:  The default branch cannot be deleted." in ran.err
    ran = ana("branch", "create", lake.at("main"), "-s", "main")
    assert "hint:  The name is in use" in ran.err
    ran = ana("branch", "reset", lake.at("main"), "--prefix", "a", "--object", "b", "-y")
    assert (ran.code, "exclude each other" in ran.err) == (2, True)
    ran = ana("branch", "create", lake.at("b"))
    assert ran.code == 2


def test_unmerged_branches(ana, lake):
    lake.commit("main", "first", a="1")
    for name, content in (("small", "1"), ("large", "12345")):
        ana.ok("branch", "create", lake.at(name), "-s", "main")
        lake.commit(name, name, **{name: content})
    ana.ok("branch", "create", lake.at("same"), "-s", "main")
    listed = ana.ok("branch", "list", lake.uri, "--unmerged", "--sort", "size", "--json").json
    assert [(each["branch"], each["bytes"]) for each in listed] == [("large", 5), ("small", 1)]
    rows = ana.ok("branch", "list", lake.uri, "--unmerged").rows
    assert sorted(row[0] for row in rows) == ["large", "small"]
    one = ana.ok("branch", "list", lake.uri, "--unmerged", "--sort", "size", "--amount", "1").rows
    assert [row[0] for row in one] == ["large"]
    for wrong in (("--sort", "age"), ("--unmerged", "--expiring"), ("--unmerged", "--prefix", "a")):
        assert ana("branch", "list", lake.uri, *wrong).code == 2


def test_a_name_that_is_too_long(ana, lake):
    name = lake.at("n" * 1025)
    for words in (("branch", "create", name, "-s", "main"), ("tag", "create", name, "main")):
        ran = ana(*words)
        assert ran.code == 1
        assert "1025 is above maximum length (1024)" in ran.err
        assert "hint:  Choose a shorter name: it has at most 1,024 bytes of UTF-8." in ran.err
