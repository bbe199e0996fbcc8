"""`local commit` against a real server: plain commits, merges, conflicts, others at work."""

from __future__ import annotations

import json

import pytest
from support.linked_folders import LINK, branches, contents, write

from anabranch.cli.client.connection import Connection
from anabranch.cli.commands.local.link import read_link
from anabranch.cli.errors import Failure


def test_commit_of_a_branch_that_has_not_moved_is_a_plain_commit(ana, cloned):
    lake, folder = cloned
    base = lake.head("main")
    write(folder / "a", "changed")
    write(folder / "new/f", "new")
    (folder / "c/d").unlink()
    assert ana.ok("local", "status", folder, "--local").rows == [
        ["local", "changed", "a"],
        ["local", "removed", "c/d"],
        ["local", "added", "new/f"],
    ]
    ana.ok("local", "commit", folder, "-m", "Mine", "--meta", "k=v")
    commit = ana.ok("show", lake.at("main"), "--json").json
    assert (commit["parents"], commit["message"], commit["metadata"]["k"]) == ([base], "Mine", "v")
    assert lake.read("main/data/new/f") == b"new"
    assert ana("fs", "stat", lake.at("main/data/c/d")).code == 1
    stat = ana.ok("fs", "stat", lake.at("main/data/a"), "--json").json
    assert stat["metadata"] == {"::lakefs::client-mtime": "2000000000"}
    assert ana.ok("local", "status", folder).out == ""
    assert read_link(folder).head == commit["id"]
    assert ana("local", "commit", folder, "-m", "m", "--json").error["kind"] == "no_changes"


def test_commit_into_a_branch_that_moved_merges(ana, cloned):
    lake, folder = cloned
    lake.put("main/data/b", "remote b")
    theirs = lake.commit("main", "theirs")
    write(folder / "a", "local")
    ana.ok("local", "commit", folder, "-m", "Mine")
    commit = ana.ok("show", lake.at("main"), "--json").json
    assert commit["parents"][0] == theirs
    assert len(commit["parents"]) == 2
    assert contents(folder) == {"a": "local", "b": "remote b", "c/d": "data/c/d"}
    assert lake.read("main/data/a") == b"local"
    assert ana.ok("local", "status", folder).out == ""
    assert branches(lake) == ["main"]


def test_commit_with_conflicts_changes_nothing(ana, diverged):
    lake, folder, theirs = diverged
    before = contents(folder), (folder / LINK).read_text()
    error = ana("local", "commit", folder, "-m", "Mine", "--json").error
    assert (error["kind"], error["paths"]) == ("merge_conflict", ["data/a"])
    assert (contents(folder), (folder / LINK).read_text()) == before
    assert lake.head("main") == theirs
    assert branches(lake) == ["main"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--strategy", "source-wins"], "local"),
        (["--strategy", "dest-wins"], "remote a"),
        (["--resolve", "data/a=source-wins"], "local"),
    ],
)
def test_commit_settles_conflicts(ana, diverged, options, text):
    lake, folder, _ = diverged
    ana.ok("local", "commit", folder, "-m", "Mine", *options)
    assert lake.read("main/data/a") == text.encode()
    assert contents(folder) == {
        "a": text,
        "c/d": "data/c/d",
        "e": "remote e",
        "mine": "mine",
    }
    assert ana.ok("local", "status", folder).out == ""
    assert branches(lake) == ["main"]


@pytest.mark.parametrize("command", ["commit", "pull"])
def test_the_rules_of_the_branch_settle_conflicts(ana, lake, tmp_path, command):
    lake.put("main/_lakefs_merge.yaml", 'rules:\n  - {path: "*.json", strategy: json}\n')
    lake.put("main/x.json", '{"a": 1, "b": 1}\n')
    lake.commit("main", "base")
    folder = tmp_path / "clone"
    ana.ok("local", "clone", lake.at("main/"), folder)
    lake.put("main/x.json", '{"a": 2, "b": 1}\n')
    lake.commit("main", "theirs")
    write(folder / "x.json", '{"a": 1, "b": 2}\n')
    ana.ok("local", command, folder, *(["-m", "Mine"] if command == "commit" else []))
    assert json.loads((folder / "x.json").read_text()) == {"a": 2, "b": 2}
    if command == "pull":
        assert ana.ok("local", "status", folder).rows == [["local", "changed", "x.json"]]
        ana.ok("local", "commit", folder, "-m", "Mine")
    assert json.loads(lake.read("main/x.json")) == {"a": 2, "b": 2}
    assert ana.ok("local", "status", folder).out == ""
    assert branches(lake) == ["main"]


def test_commit_refuses_uncommitted_changes_of_others(ana, cloned):
    lake, folder = cloned
    write(folder / "a", "local")
    lake.put("main/other", "uncommitted")
    error = ana("local", "commit", folder, "-m", "m", "--json").error
    assert (error["kind"], error["paths"]) == ("dirty_branch", ["other"])
    lake.put("main/data/a", "uncommitted")
    error = ana("local", "commit", folder, "-m", "m", "--force", "--json").error
    assert (error["kind"], error["paths"]) == ("dirty_branch", ["data/a"])
    assert lake.read("main/data/a") == b"uncommitted"
    ana.ok("branch", "reset", lake.at("main"), "--object", "data/a", "--yes")
    ana.ok("local", "commit", folder, "-m", "m", "--force")
    assert lake.read("main~0/other") == b"uncommitted"


def test_a_commit_to_a_protected_branch_is_refused(ana, cloned):
    lake, folder = cloned
    ana.ok("branch-protect", "add", lake.uri, "main")
    head = lake.head("main")
    write(folder / "a", "local")
    assert ana("local", "commit", folder, "-m", "m", "--json").error["kind"] == "protected_branch"
    assert lake.head("main") == head
    assert (folder / "a").read_text() == "local"


@pytest.mark.sample(1)
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), Failure("broken")])
def test_an_interrupted_commit_leaves_nothing_behind(ana, cloned, monkeypatch, moved, error):
    lake, folder = cloned
    if moved:
        lake.put("main/data/b", "remote b")
        lake.commit("main", "theirs")
    head = lake.head("main")
    write(folder / "a", "local")
    (folder / "c/d").unlink()
    original = Connection.send

    def send(self, method, *segments, **options):
        if segments[-1] == "commits":
            raise error
        return original(self, method, *segments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "send", send)
        assert ana("local", "commit", folder, "-m", "m").code in (1, 130)
    assert lake.head("main") == head
    assert ana.ok("diff", lake.at("main"), "--json").json == []
    assert branches(lake) == ["main"]
    ana.ok("local", "commit", folder, "-m", "m")
    assert ana.ok("local", "status", folder).out == ""


def test_a_branch_that_moves_during_the_upload_is_merged(ana, cloned, monkeypatch):
    lake, folder = cloned
    write(folder / "a", "local")
    original, moved = Connection.upload, []

    def upload(self, *segments, **options):
        if not moved:
            moved.append(True)
            lake.branch("dev")
            lake.put("dev/data/b", "remote b")
            lake.commit("dev", "theirs")
            moved.append(lake.merge("dev", "main"))
        return original(self, *segments, **options)

    monkeypatch.setattr(Connection, "upload", upload)
    ana.ok("local", "commit", folder, "-m", "Mine")
    commit = ana.ok("show", lake.at("main"), "--json").json
    assert commit["parents"][0] == moved[1]
    assert contents(folder) == {"a": "local", "b": "remote b", "c/d": "data/c/d"}
    assert ana.ok("diff", lake.at("main"), "--json").json == []


def test_uncommitted_changes_that_appear_during_the_upload_are_not_committed(
    ana, cloned, monkeypatch
):
    lake, folder = cloned
    head = lake.head("main")
    write(folder / "a", "local")
    original, written = Connection.upload, []

    def upload(self, *segments, **options):
        if not written:
            written.append(True)
            lake.put("main/other", "of others")
        return original(self, *segments, **options)

    monkeypatch.setattr(Connection, "upload", upload)
    error = ana("local", "commit", folder, "-m", "Mine", "--json").error
    assert (error["kind"], error["paths"]) == ("dirty_branch", ["other"])
    assert lake.head("main") == head
    assert [row["path"] for row in ana.ok("diff", lake.at("main"), "--json").json] == ["other"]


@pytest.mark.parametrize("removed", [False, True])
def test_a_file_stays_if_others_write_its_object_at_the_moment_of_the_commit(
    ana, cloned, monkeypatch, removed
):
    lake, folder = cloned
    write(folder / "a", "local")
    original = Connection.send

    def send(self, method, *segments, **options):
        if segments[-1] == "commits":
            monkeypatch.setattr(Connection, "send", original)
            if removed:
                ana.ok("fs", "rm", lake.at("main/data/a"))
            else:
                lake.put("main/data/a", "other")
        return original(self, method, *segments, **options)

    monkeypatch.setattr(Connection, "send", send)
    error = ana("local", "commit", folder, "-m", "Mine", "--json").error
    assert (error["kind"], error["paths"]) == ("conflict", ["a"])
    assert (folder / "a").read_text() == "local"
    change = "added" if removed else "changed"
    assert ana.ok("local", "status", folder).rows == [["local", change, "a"]]


@pytest.mark.parametrize("moved", [False, True])
def test_a_new_time_alone_is_committed(ana, cloned, moved):
    lake, folder = cloned
    if moved:
        lake.put("main/data/b", "remote b")
        lake.commit("main", "theirs")
    write(folder / "a", "data/a")
    assert ana.ok("local", "status", folder, "-l").rows == [["local", "changed", "a"]]
    ana.ok("local", "commit", folder, "-m", "Touch")
    assert ana.ok("local", "status", folder).out == ""


def test_a_commit_that_was_merged_already_is_followed(ana, cloned, monkeypatch):
    lake, folder = cloned
    lake.put("main/data/b", "remote b")
    lake.commit("main", "theirs")
    write(folder / "a", "local")
    with monkeypatch.context() as patch:
        patch.setattr("anabranch.cli.commands.local.commit._follow", _interrupt)
        assert ana("local", "commit", folder, "-m", "Mine").code == 130
    merged = lake.head("main")
    ana.ok("local", "commit", folder, "-m", "Mine")
    assert contents(folder) == {"a": "local", "b": "remote b", "c/d": "data/c/d"}
    assert ana.ok("local", "status", folder).out == ""
    assert lake.read(f"{merged}/data/a") == b"local"
    assert branches(lake) == ["main"]


def _interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


def test_hooks_guard_the_merge(ana, cloned):
    lake, folder = cloned
    action = (
        "name: guard\non: {pre-merge: {branches: [main]}}\n"
        "hooks:\n  - {id: no, type: lua, properties: {script: \"error('not today')\"}}\n"
    )
    lake.put("main/_lakefs_actions/guard.yaml", action)
    head = lake.commit("main", "guard")
    write(folder / "a", "local")
    ran = ana("local", "commit", folder, "-m", "Mine")
    assert (ran.code, "412" in ran.err) == (1, True)
    assert lake.head("main") == head
    assert (folder / "a").read_text() == "local"
    assert branches(lake) == ["main"]
