"""`actions` against a real server."""

from __future__ import annotations

import pytest

GOOD = """\
name: only tables
on: {pre-commit: {branches: [main]}}
hooks:
- id: only_tables
  type: check
  properties: {files: [{within: [tables/, _lakefs_actions/]}]}
- id: only_then
  type: check
  properties: {files: [{max_size: 1 GiB}]}
"""


@pytest.fixture
def guarded(lake):
    lake.commit("main", "an action", **{"_lakefs_actions/tables.yaml": GOOD})
    return lake


def test_valid_files_are_described_without_a_server(ana, tmp_path):
    file = tmp_path / "tables.yaml"
    file.write_text(GOOD)
    ran = ana.ok("actions", "validate", str(file))
    assert ran.out == f"{file}: only tables: 2 hooks on pre-commit\n"
    described = ana.ok("actions", "validate", str(file), "--json").json
    assert described == [
        {"file": str(file), "name": "only tables", "events": ["pre-commit"], "hooks": 2}
    ]


def test_each_wrong_file_is_reported_with_its_line(ana, tmp_path):
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    files[0].write_text("on: {pre-comit: }\nhooks: []\n")
    files[1].write_text("name: no hooks\non:\n  pre-commit:\n")
    ran = ana("actions", "validate", *map(str, files))
    assert ran.code == 1
    assert f"{files[0]}:1: on.pre-comit: unknown event" in ran.err
    assert f"{files[1]}:1: the field `hooks` is required" in ran.err
    assert ana("actions", "validate", str(tmp_path / "none.yaml")).code == 1


def test_runs_are_listed_and_shown_with_what_hooks_wrote(ana, guarded):
    lake = guarded
    lake.put("main/elsewhere", b"x")
    refused = ana("commit", lake.at("main"), "-m", "no table")
    assert refused.code == 1
    assert "pre-commit hook aborted, run id '" in refused.err
    run = ana.ok("actions", "list", lake.uri, "--branch", "main").rows[0]
    assert run[1:4] == ["pre-commit", "main", "failed"]
    shown = ana.ok("actions", "show", lake.uri, run[0])
    assert "Status:  failed" in shown.out
    assert [line.split("\t")[-1] for line in shown.lines[-2:]] == ["failed", "skipped"]
    assert "elsewhere" in ana.ok("actions", "logs", lake.uri, run[0]).out
    assert ana.ok("actions", "logs", lake.uri, run[0], "0000_0001").out == ""
    logs = ana.ok("actions", "logs", lake.uri, run[0], "--json").json
    assert [each["status"] for each in logs] == ["failed", "skipped"]
    assert ana("actions", "logs", lake.uri, run[0], "0009_0000").code == 1
    assert ana("actions", "show", lake.uri, "nothing").code == 1


def test_hooks_run_by_hand(ana, guarded):
    lake = guarded
    passed = ana.ok("actions", "run", lake.at("main"), "--event", "pre-commit")
    assert [row[-1] for row in passed.rows] == ["completed", "completed"]
    lake.put("main/elsewhere", b"x")
    failed = ana("actions", "run", lake.at("main"), "--action", "only tables", "--base", "main@")
    assert failed.code == 1
    assert "hook 'only_tables'" in failed.err
    nothing = ana.ok("actions", "run", lake.at("main"), "--event", "post-merge")
    assert (nothing.out, "no action runs" in nothing.err) == ("", True)
    assert ana("actions", "run", lake.at("main")).code == 1
