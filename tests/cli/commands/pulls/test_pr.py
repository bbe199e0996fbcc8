"""`pr` against a real server."""

from __future__ import annotations

import pytest

from anabranch.testing.server import USER_NAME


@pytest.fixture
def made(ana, lake):
    """The id of a pull request from `side`, which is one commit ahead, into `main`."""
    lake.branch("side")
    lake.commit("side", "first", a="1")
    ran = ana.ok("pr", "create", lake.at("side"), "main", "-t", "Take a", "-d", "one", "--json")
    return ran.json["id"]


def status(ana, lake, made):
    return ana.ok("pr", "show", lake.uri, made, "--json").json["status"]


def test_from_creation_to_merge(ana, lake, made):
    head = lake.head("side")
    (row,) = ana.ok("pr", "list", lake.uri).rows
    assert row[:5] == [made, "open", "side", "main", USER_NAME]
    assert row[6] == "Take a"
    shown = ana.ok("pr", "show", lake.uri, made).lines
    assert f"Commit:       {head}" in shown
    assert "Approvals:    0 of 0" in shown
    assert "Description:  one" in shown
    merged = ana.ok("pr", "merge", lake.uri, made, "-m", "Take it", "--json").json["reference"]
    assert lake.head("main") == merged
    assert lake.read("main/a") == b"1"
    item = ana.ok("pr", "show", lake.uri, made, "--json").json
    assert (item["status"], item["merged_commit_id"]) == ("merged", merged)
    again = ana("pr", "merge", lake.uri, made)
    assert (again.code, again.err.splitlines()[0]) == (1, "error: bad pull request status")
    assert ana.ok("pr", "list", lake.uri).out == ""
    assert ana.ok("pr", "list", lake.uri, "--state", "closed").rows[0][0] == made


def test_created_and_merged_are_said(ana, lake, made):
    ran = ana.ok("pr", "create", lake.at("main"), lake.at("side"), "--title", "t")
    assert ran.out.startswith("Created pull request ")
    assert ran.out.endswith(f": {lake.at('main')} into {lake.at('side')}\n")
    ran = ana.ok("pr", "merge", lake.uri, made)
    assert ran.out == f"Merged {lake.at('side')} into {lake.at('main')} at {lake.head('main')}\n"


def test_close_and_reopen(ana, lake, made):
    assert ana.ok("pr", "close", lake.uri, made).out == f"Closed pull request {made}\n"
    assert status(ana, lake, made) == "closed"
    assert ana("pr", "merge", lake.uri, made).code == 1
    assert ana.ok("pr", "reopen", lake.uri, made).out == f"Reopened pull request {made}\n"
    assert status(ana, lake, made) == "open"


def test_an_open_one_says_that_its_source_was_deleted(ana, lake, made):
    ana.ok("pr", "merge", lake.uri, made)
    merge = ana.ok("op", "log", lake.uri, "--amount", "1", "--json").json[0]["id"]
    assert "Source:       side" in ana.ok("pr", "show", lake.uri, made).lines
    ana.ok("branch", "delete", lake.at("side"), "--yes")
    ana.ok("undo", lake.uri, merge)
    assert status(ana, lake, made) == "open"
    assert "Source:       side (deleted;" in ana.ok("pr", "show", lake.uri, made).out
    ana.ok("branch", "restore", lake.at("side"))
    assert "Source:       side" in ana.ok("pr", "show", lake.uri, made).lines


def test_comments(ana, lake, made):
    for number, options in enumerate(([], ["--path", "a"])):
        ran = ana.ok("pr", "comment", lake.uri, made, "-m", f"text {number}", *options)
        assert ran.out == f"Commented on pull request {made}\n"
    rows = ana.ok("pr", "comments", lake.uri, made).rows
    assert [(row[1], *row[3:]) for row in rows] == [
        (USER_NAME, "", "text 0"),
        (USER_NAME, "a", "text 1"),
    ]
    page = ana.ok("pr", "comments", lake.uri, made, "--amount", "1")
    assert f"--after '{rows[0][0]}'" in page.err
    assert ana("pr", "comment", lake.uri, made, "-m", " ").code == 1


def test_approvals_that_are_missing(ana, lake, made):
    ana.ok("branch-protect", "add", lake.uri, "main", "--approvals", "1")
    assert ana.ok("branch-protect", "list", lake.uri).rows == [["main", "1"]]
    ana.ok("branch-protect", "add", lake.uri, "x")
    ana.ok("branch-protect", "add", lake.uri, "main")
    assert ana.ok("branch-protect", "list", lake.uri).rows == [["main", "1"], ["x", "0"]]
    head = lake.head("side")
    ran = ana.ok("pr", "approve", lake.uri, made, "--commit", head, "-m", "good")
    assert ran.out.startswith(f"Approved commit {head}; as your own")
    ran = ana.ok("pr", "request-changes", lake.uri, made, "-m", "more")
    assert ran.out == f"Requested changes of commit {head}\n"
    rows = ana.ok("pr", "reviews", lake.uri, made).rows
    assert [row[3:] for row in rows] == [
        ["approved", "no", head, "good"],
        ["changes_requested", "no", head, "more"],
    ]
    ran = ana("pr", "merge", lake.uri, made)
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "error: 1 of 1 required approval is missing"
    assert head in ran.err
    ran = ana("merge", lake.at("side"), "main")
    assert "without a pull request" in ran.err
    lake.commit("side", "second", b="2")
    ran = ana("pr", "approve", lake.uri, made, "--commit", head)
    assert (ran.code, "the source side is at commit" in ran.err) == (1, True)
    ana.ok("branch-protect", "add", lake.uri, "main", "--approvals", "0")
    ana.ok("pr", "merge", lake.uri, made)


def test_conflict_names_the_paths(ana, lake, made):
    lake.commit("main", "other", a="2")
    ran = ana("pr", "merge", lake.uri, made, "--json")
    assert ran.code == 1
    assert (ran.error["kind"], ran.error["paths"]) == ("merge_conflict", ["a"])
    assert status(ana, lake, made) == "open"
    ana.ok("pr", "merge", lake.uri, made, "--strategy", "source-wins")
    assert lake.read("main/a") == b"1"


def test_errors(ana, lake, made):
    for command in ("show", "merge", "close", "reopen", "approve", "reviews", "comments"):
        ran = ana("pr", command, lake.uri, "ceh8bs1ksduasdr2aobg")
        assert (ran.code, ran.err.splitlines()[0]) == (1, "error: pull request not found")
        assert f"anabranch pr list {lake.uri} --state all" in ran.err
    ran = ana("pr", "create", lake.at("sid"), "main", "-t", "t")
    assert (ran.code, "branch not found" in ran.err, "Did you mean side" in ran.err) == (
        1,
        True,
        True,
    )
    ran = ana("pr", "create", lake.at("main"), "main", "-t", "t")
    assert "same branch" in ran.err
    assert ana("pr", "create", lake.at("side"), "main").code == 2
    assert ana("pr", "create", lake.at("side"), "lakefs://other/main", "-t", "t").code == 2
    assert ana("pr", "list", lake.uri, "--state", "merged").code == 2
    assert ana("branch-protect", "add", lake.uri, "main", "--approvals", "11").code == 1
    assert len(ana.ok("pr", "list", lake.uri, "--state", "all").rows) == 1
    assert made


def test_comments_on_lines_and_rows(ana, lake, made):
    base = lake.head("main")
    comment = ["pr", "comment", lake.uri, made, "-m", "why?", "--path", "a"]
    ana.ok(*comment, "--line", "3")
    ana.ok(*comment, "--row", '{"id": 7}')
    ana.ok(*comment, "--line", "1", "--before", "--commit", base)
    rows = ana.ok("pr", "comments", lake.uri, made).rows
    assert [row[3] for row in rows] == ["a:3", 'a {"id": 7}', "a:1 before"]
    for options in (["--line", "0"], ["--row", "7"], ["--row", "{"], ["--row", "{}"]):
        assert ana(*comment, *options).code == 2
    ran = ana(*comment, "--line", "1", "--before")
    assert ran.code == 1
    assert "needs the commit" in ran.err


def test_reviewers_are_asked_and_listed(ana, lake, made):
    bob, cleo = f"bob-{made}", f"cleo-{made}"
    for name in (bob, cleo):
        ana.ok("auth", "users", "create", "--id", name)
        ana.ok("auth", "groups", "members", "add", "--id", "Viewers", "--user", name)
    options = ["--reviewer", bob, "--reviewer", cleo, "--reviewer-group", "Viewers"]
    ran = ana.ok("pr", "reviewers", "add", lake.uri, made, *options)
    asked = f"{bob}: waiting, {cleo}: waiting"
    assert ran.out == f"Reviewers of {made}: group Viewers: waiting, {asked}\n"
    ran = ana.ok("pr", "reviewers", "remove", lake.uri, made, "--reviewer-group", "Viewers")
    assert ran.out == f"Reviewers of {made}: {asked}\n"
    (row,) = ana.ok("pr", "list", lake.uri).rows
    assert row[7] == asked
    assert f"Reviewers:    {asked}" in ana.ok("pr", "show", lake.uri, made).lines
    assert ana.ok("pr", "list", lake.uri, "--waiting").out == ""
    create = ["pr", "create", lake.at("side"), "main", "-t", "Again", "--reviewer"]
    assert ana.ok(*create, bob).out.startswith("Created pull request ")
    ran = ana(*create, "nobody")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "error: there is no user 'nobody' to ask for a review",
    )
    assert ana("pr", "reviewers", "add", lake.uri, made).code == 2
