"""`merge` and `find-merge-base` against a real server."""

from __future__ import annotations

import json

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


@pytest.mark.parametrize(("listed", "others"), [(100, "others"), (103, "more than 3 others")])
def test_a_server_that_stops_at_some_conflicts_has_others(run, listed, others):
    paths = [f"{number:03}" for number in range(listed)]
    body = json.dumps({"reference": "", "conflicts": paths, "has_more": True}).encode()
    socket = ScriptedSocket([answer("409 Conflict", body)] * 2)
    command = ("merge", "lakefs://flights/dev", "main", "--server", socket.url)
    lines = run(*command).err.splitlines()
    assert lines[0] == (
        f"error: both sides changed the same objects: more than {listed} paths conflict"
    )
    assert lines[100:102] == ["         099", f"         and {others}"]
    assert "`--dry-run` counts the conflicts." in lines[-1]
    error = run(*command, "--json").error
    assert (error["paths"], error["has_more_paths"]) == (paths, True)


def test_conflicts_of_which_none_may_be_read_have_no_number(run):
    body = b'{"reference":"","conflicts":[],"has_more":true}'
    socket = ScriptedSocket([answer("409 Conflict", body)])
    ran = run("merge", "lakefs://flights/dev", "main", "--server", socket.url)
    assert "same objects: some paths conflict\nwhere" in ran.err


def test_conflicts_that_may_not_be_read_are_counted(run):
    body = b'{"reference":"","conflicts":["a"],"conflict_count":2,"has_more":false}'
    socket = ScriptedSocket([answer("409 Conflict", body)])
    ran = run("merge", "lakefs://flights/dev", "main", "--server", socket.url)
    assert "2 paths conflict\n         a\nwhere" in ran.err


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


def test_a_dry_run_prints_what_would_happen_and_changes_nothing(ana, apart):
    lake, _ = apart
    head = lake.head("main")
    ran = ana.ok("merge", lake.at("dev"), "main", "--dry-run")
    assert ran.out == "Would add 1, change 1 and remove 0 objects\n"
    assert lake.head("main") == head


def test_a_dry_run_prints_the_conflicts_and_exits_with_1(ana, apart):
    lake, _ = apart
    head = lake.commit("main", "main", b="main", d="main")
    ran = ana("merge", lake.at("dev"), "main", "--dry-run", "--resolve", "d=source-wins")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "Would add 0, change 0 and remove 0 objects",
        "  settled by source-wins: d",
        "  conflict, both changed: b",
    ]
    assert ran.err.startswith("error: 1 path conflicts")
    assert lake.head("main") == head


def test_conflicts_are_resolved_path_by_path(ana, apart):
    lake, _ = apart
    lake.commit("main", "main", b="main", d="main")
    at = lake.at("dev"), "main"
    ana.ok("merge", *at, "--resolve", "b=source-wins", "--resolve", "**=dest-wins")
    assert (lake.read("main/b"), lake.read("main/d")) == (b"dev", b"main")


def test_conflicts_of_content_are_printed(ana, lake):
    lake.commit("main", "base", a='{"x": 1}')
    lake.branch("dev")
    lake.commit("dev", "dev", a='{"x": 2}')
    lake.commit("main", "main", a='{"x": 3}')
    ran = ana("merge", lake.at("dev"), "main", "--resolve", "*=json")
    assert ran.code == 1
    assert (
        "  conflict, both changed: a\n      pointer /x: base 1, source 2, destination 3" in ran.err
    )


@pytest.mark.parametrize("given", ["a", "=text", "a="])
def test_malformed_resolutions_are_refused(ana, lake, given):
    ran = ana("merge", lake.at("main"), "main", "--resolve", given)
    assert ran.code == 2
    assert "is not PATTERN=STRATEGY" in ran.err


def test_unknown_strategies_are_refused_with_the_known_ones(ana, apart):
    lake, _ = apart
    ran = ana("merge", lake.at("dev"), "main", "--resolve", "a=best")
    assert ran.code == 1
    assert "resolutions[0]: unknown merge strategy 'best'" in ran.err
    assert "source-wins" in ran.err


@pytest.fixture
def tables(lake):
    """Branch dev and main both changed rows of t.csv."""
    lake.commit("main", "base", **{"t.csv": "id,v\n1,x\n2,x\n"})
    lake.branch("dev")
    lake.commit("dev", "dev", **{"t.csv": "id,v\n1,s\n2,s\n"})
    lake.commit("main", "main", **{"t.csv": "id,v\n1,d\n"})
    return lake


def test_rows_in_conflict_are_printed_chosen_and_merged(ana, tables, tmp_path):
    at = ("merge", tables.at("dev"), "main")
    assert ana.ok(*at, "--dry-run", "--rows", "t.csv", "--key", "id").out.splitlines() == [
        'both changed: id="1"',
        '  v: base "x", source "s", destination "d"',
        'changed deleted: id="2"',
        '  base: {"id": "2", "v": "x"}',
        '  source: {"id": "2", "v": "s"}',
        "  destination: no row",
    ]
    listed = ana.ok(*at, "--dry-run", "--rows", "t.csv", "--json").json
    listed["choices"][0]["cells"] = {"v": "source"}
    listed["choices"][1]["take"] = "base"
    file = tmp_path / "choices.json"
    file.write_text(json.dumps(listed))
    assert "settled by rows: t.csv" in ana.ok(*at, "--choices", str(file), "--dry-run").out
    ana.ok(*at, "--choices", str(file))
    assert tables.read("main/t.csv") == b"id,v\n1,s\n2,x\n"
    ran = ana("merge", tables.at("main"), "dev", "--choices", str(file))
    assert ran.code == 1
    assert "the choices for rows are outdated: 't.csv' is not in conflict" in ran.err


@pytest.mark.parametrize("content", ["{", "[1]", '{"choices": 1}', '{"choices": [1]}', None])
def test_files_without_choices_are_refused(ana, tables, tmp_path, content):
    file = tmp_path / "choices.json"
    if content is not None:
        file.write_text(content)
    ran = ana("merge", tables.at("dev"), "main", "--choices", str(file))
    assert ran.code == 2
    assert str(file) in ran.err


def test_rows_are_printed_without_a_merge(ana, tables):
    ran = ana("merge", tables.at("dev"), "main", "--rows", "t.csv")
    assert ran.code == 2
    assert "Add --dry-run" in ran.err
