"""`merge` and `find-merge-base` against a real server."""

from __future__ import annotations

import pytest
from support.faults.scripted_socket import ScriptedSocket, answer


@pytest.fixture
def apart(lake):
    """Branch dev and main both changed b; dev added d."""
    base = lake.commit("main", "base", a="1", b="1")
    lake.branch("dev")
    lake.commit("dev", "dev", b="dev", d="dev")
    return lake, base


def test_a_merge(ana, apart):
    lake, base = apart
    ahead = lake.commit("main", "main", e="main")
    dev = lake.head("dev")
    ran = ana.ok("merge", lake.at("dev"), lake.at("main"), "-m", "Take it", "--meta", "k=v")
    head = ana.ok("show", lake.at("main"), "--json").json
    assert ran.out == f"Merged {lake.at('dev')} into {lake.at('main')} at {head['id']}\n"
    assert head["parents"] == [ahead, dev]
    assert head["message"] == "Take it"
    assert head["metadata"]["k"] == "v"
    assert lake.read("main/b") == b"dev"
    assert ana.ok("find-merge-base", lake.at("main~1"), "dev~1").out == f"{base}\n"
    found = ana.ok("find-merge-base", lake.at("dev"), lake.at("main"), "--json").json
    assert found["base_commit_id"] == dev


def test_the_default_message_and_squash(ana, apart):
    lake, base = apart
    reference = lake.merge("dev", "main", "--squash")
    head = ana.ok("show", lake.at("main"), "--json").json
    assert head["id"] == reference
    assert head["parents"] == [base]
    assert head["message"] == "Merge 'dev' into 'main'"


def test_conflicts_list_their_paths(ana, apart):
    lake, _ = apart
    ahead = lake.commit("main", "main", b="main", d="main")
    ran = ana("merge", lake.at("dev"), "main")
    assert (ran.code, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert lines[:3] == [
        "error: both sides changed the same objects: 2 paths conflict",
        "         b",
        "         d",
    ]
    assert "HTTP 409" in lines[3]
    assert "--strategy source-wins or dest-wins" in lines[4]
    assert lake.head("main") == ahead

    error = ana("merge", lake.at("dev"), "main", "--json").error
    assert (error["kind"], error["status"], error["paths"]) == ("merge_conflict", 409, ["b", "d"])


def test_a_server_that_does_not_name_the_conflicts_is_asked_for_them(run):
    # what lakeFS 1.84 answers
    page = (
        b'{"pagination":{"has_more":false,"max_per_page":1000,"next_offset":"","results":2},'
        b'"results":[{"path":"a","path_type":"object","type":"added"},'
        b'{"path":"b","path_type":"object","type":"conflict"}]}'
    )
    socket = ScriptedSocket([answer("409 Conflict", b'{"reference":""}'), answer("200 OK", page)])
    place = "lakefs://flights"
    ran = run("merge", f"{place}/dev", "main", "--server", socket.url, "--json")
    assert (ran.code, ran.error["kind"], ran.error["paths"]) == (1, "merge_conflict", ["b"])
    assert socket.requests[1].startswith(
        b"GET /api/v1/repositories/flights/refs/main/diff/dev?type=three_dot&amount=1000 "
    )
    socket.close()


@pytest.mark.parametrize(("side", "content"), [("source-wins", b"dev"), ("dest-wins", b"main")])
def test_strategies(apart, side, content):
    lake, _ = apart
    lake.commit("main", "main", b="main")
    lake.merge("dev", "main", "--strategy", side)
    assert lake.read("main/b") == content
    assert lake.read("main/d") == b"dev"


def test_refusals(ana, apart):
    lake, _ = apart
    lake.merge("dev", "main")
    ran = ana("merge", lake.at("dev"), "main")
    assert (ran.code, "no changes" in ran.err) == (1, True)
    assert ran.err.splitlines()[-1] == ("hint:  Add --allow-empty to create a merge commit anyway.")
    lake.merge("dev", "main", "--allow-empty")
    lake.put("main/x", "dirty")
    ran = ana("merge", lake.at("dev"), "main", "--allow-empty", "--json")
    assert (ran.code, ran.error["kind"]) == (1, "dirty_branch")
    ran = ana("merge", lake.at("dve"), "dev", "--json")
    assert (ran.code, ran.error["hint"]) == (1, "Did you mean dev?")
    ran = ana("merge", lake.at("dev"), "main", "--strategy", "mine")
    assert ran.code == 2
