"""`local` against a real server: folders that are kept in step with a branch."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from anabranch.cli.client.connection import Connection
from anabranch.cli.client.settings import resolve
from anabranch.cli.commands.local.git_ignore import ignore_in_git
from anabranch.cli.commands.local.link import exclusive, read_link
from anabranch.cli.commands.local.safe_names import check_names, clashes
from anabranch.cli.errors import Failure

LINK = ".lakefs_ref.yaml"


def write(file: Path, text: str) -> None:
    """Writes a file as an editor does that comes back much later."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (2_000_000_000, 2_000_000_000))


def contents(folder: Path) -> dict[str, str]:
    """Returns the texts of all files but the link."""
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != LINK
    }


def branches(lake) -> list[str]:
    """Returns the names of all branches, hidden ones too."""
    connection = Connection(resolve(os.environ), os.environ)
    pages = connection.pages("repositories", lake.name, "branches", show_hidden=True)
    names = [item["id"] for item in pages]
    connection.close()
    return names


@pytest.fixture
def cloned(ana, lake, tmp_path):
    """A clone of the path data/ on main, with the files a, b and c/d."""
    for path in ("data/a", "data/b", "data/c/d", "other"):
        lake.put(f"main/{path}", path)
    lake.commit("main", "base")
    folder = tmp_path / "clone"
    ana.ok("local", "clone", lake.at("main/data/"), folder)
    return lake, folder


@pytest.fixture
def apart(cloned):
    """The clone, with a changed there and on the branch, where b is removed and e is new, too."""
    lake, folder = cloned
    write(folder / "a", "local")
    write(folder / "mine", "mine")
    lake.ana.ok("fs", "rm", lake.at("main/data/b"))
    lake.put("main/data/e", "remote e")
    lake.put("main/data/a", "remote a")
    return lake, folder, lake.commit("main", "theirs")


def test_clone_downloads_the_path_and_links_the_folder(ana, cloned):
    lake, folder = cloned
    assert contents(folder) == {"a": "data/a", "b": "data/b", "c/d": "data/c/d"}
    head = lake.head("main")
    assert (folder / LINK).read_text() == (
        f"src: lakefs://{lake.name}/main/data/\nat_head: {head}\nactive_operation: ''\n"
    )
    assert ana.ok("local", "status", folder).out == ""
    (row,) = ana.ok("local", "list", folder.parent).rows
    assert row == [str(folder), lake.at("main/data/"), head]
    assert ana("local", "clone", lake.at("main/"), folder).code == 1


def test_a_link_of_lakectl_is_read_and_kept_readable(ana, cloned):
    lake, folder = cloned
    head = lake.head("main")
    for key in ("active_operation", "operation"):
        (folder / LINK).write_text(f'src: {lake.at("main/data/")}\nat_head: {head}\n{key}: ""\n')
        assert ana.ok("local", "status", folder / "c").out == ""
    (folder / LINK).write_text(f"src: {lake.at('main/data/')}\nat_head: {head}\noperation: pull\n")
    for command in (("pull",), ("commit", "-m", "m")):
        assert ana("local", *command, folder, "--json").error["kind"] == "interrupted"
    ana.ok("local", "checkout", folder)
    assert read_link(folder).interrupted == ""


@pytest.mark.parametrize(
    "text", ["", "[1]", "src: 1", "src: lakefs://r/main/\nat_head: ''", "src: x\nat_head: y", "{"]
)
def test_a_broken_link_is_refused(run, tmp_path, text):
    (tmp_path / LINK).write_text(text)
    assert run("local", "status", tmp_path, "--json").error["kind"] == "invalid_link"


def test_init_leaves_the_files(ana, lake, tmp_path):
    lake.put("main/data/a", "remote")
    lake.commit("main", "base")
    write(tmp_path / "work/new", "new")
    assert ana("local", "init", lake.at("main/data/a"), tmp_path / "work").code == 1
    ana.ok("local", "init", lake.at("main/data"), tmp_path / "work")
    assert ana.ok("local", "status", tmp_path / "work").rows == [
        ["local", "removed", "a"],
        ["local", "added", "new"],
    ]
    again = ana("local", "init", lake.at("main/data"), tmp_path / "work", "--json")
    assert again.error["kind"] == "already_exists"
    ana.ok("local", "init", lake.at("main/other"), tmp_path / "work", "--force")


def test_git_ignores_the_folder_but_not_its_link(ana, lake, tmp_path):
    lake.put("main/a", "a")
    lake.commit("main", "base")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    ana.ok("local", "clone", lake.at("main/"), tmp_path / "data/may")
    expected = "*.log\n# ignored by lakectl local:\ndata/may/*\n!data/may/.lakefs_ref.yaml\n"
    assert (tmp_path / ".gitignore").read_text() == expected
    assert ignore_in_git(tmp_path / "data/may") is None
    shown = ["git", "-C", tmp_path, "status", "--porcelain", "-uall"]
    listed = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split()
    assert "data/may/.lakefs_ref.yaml" in listed
    assert "data/may/a" not in listed


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


def test_commit_with_conflicts_changes_nothing(ana, apart):
    lake, folder, theirs = apart
    before = contents(folder), (folder / LINK).read_text()
    error = ana("local", "commit", folder, "-m", "Mine", "--json").error
    assert (error["kind"], error["paths"]) == ("merge_conflict", ["data/a"])
    assert (contents(folder), (folder / LINK).read_text()) == before
    assert lake.head("main") == theirs
    assert branches(lake) == ["main"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--strategy", "source-wins"], "local"),
        (["--strategy", "dest-wins"], "remote a"),
        (["--resolve", "data/a=source-wins"], "local"),
    ],
)
def test_commit_settles_conflicts(ana, apart, options, text):
    lake, folder, _ = apart
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


def test_pull_brings_changes_beside_local_ones(ana, cloned):
    lake, folder = cloned
    write(folder / "a", "local")
    write(folder / "mine", "mine")
    ana.ok("fs", "rm", lake.at("main/data/c/d"))
    lake.put("main/data/b", "remote b")
    head = lake.commit("main", "theirs")
    assert ["remote", "removed", "c/d"] in ana.ok("local", "status", folder).rows
    ana.ok("local", "pull", folder)
    assert contents(folder) == {"a": "local", "b": "remote b", "mine": "mine"}
    assert not (folder / "c").exists()
    assert read_link(folder).head == head
    assert ana.ok("local", "status", folder).rows == [
        ["local", "changed", "a"],
        ["local", "added", "mine"],
    ]


def test_pull_with_conflicts_changes_nothing(ana, apart):
    lake, folder, _ = apart
    assert ["both", "conflict", "a"] in ana.ok("local", "status", folder).rows
    before = contents(folder), (folder / LINK).read_text()
    ran = ana("local", "pull", folder, "--json")
    assert (ran.code, ran.error["paths"]) == (1, ["data/a"])
    assert (contents(folder), (folder / LINK).read_text()) == before
    assert branches(lake) == ["main"]


@pytest.mark.parametrize(("side", "text"), [("source-wins", "remote a"), ("dest-wins", "local")])
def test_pull_settles_conflicts(ana, apart, side, text):
    _, folder, theirs = apart
    ana.ok("local", "pull", folder, "--resolve", f"data/*={side}")
    assert contents(folder) == {"a": text, "c/d": "data/c/d", "e": "remote e", "mine": "mine"}
    assert read_link(folder).head == theirs
    changed = [["local", "changed", "a"]] if side == "dest-wins" else []
    rows = ana.ok("local", "status", folder).rows
    assert rows == [*changed, ["local", "added", "mine"]]


@pytest.mark.parametrize("side", ["source-wins", "dest-wins"])
def test_pull_settles_a_removal_against_a_change(ana, cloned, side):
    lake, folder = cloned
    ana.ok("fs", "rm", lake.at("main/data/a"))
    lake.put("main/data/b", "remote b")
    lake.commit("main", "theirs")
    write(folder / "a", "local a")
    (folder / "b").unlink()
    assert ana("local", "pull", folder, "--json").error["paths"] == ["data/a", "data/b"]
    assert (folder / "a").read_text() == "local a"
    ana.ok("local", "pull", folder, "--strategy", side)
    expected = {"b": "remote b"} if side == "source-wins" else {"a": "local a"}
    assert contents(folder) == {**expected, "c/d": "data/c/d"}


def test_pull_with_force_discards_changes_of_objects_only(ana, apart):
    _, folder, theirs = apart
    ana.ok("local", "pull", folder, "--force")
    assert contents(folder) == {
        "a": "remote a",
        "c/d": "data/c/d",
        "e": "remote e",
        "mine": "mine",
    }
    assert read_link(folder).head == theirs


def test_pull_never_takes_an_edit_of_the_same_size_and_time_for_the_object(ana, cloned):
    lake, folder = cloned
    times = (folder / "a").stat().st_mtime
    (folder / "a").write_text("DATA/A")
    os.utime(folder / "a", (times, times))
    ana.ok("fs", "rm", lake.at("main/data/a"))
    lake.commit("main", "theirs")
    assert ana("local", "pull", folder, "--json").error["paths"] == ["data/a"]
    assert (folder / "a").read_text() == "DATA/A"


def test_an_interrupted_pull_is_completed_by_the_next(ana, cloned, monkeypatch):
    lake, folder = cloned
    for name in ("a", "b", "c/d"):
        lake.put(f"main/data/{name}", f"remote {name}")
    lake.commit("main", "theirs")
    original = Connection.download

    def download(self, *segments, **options):
        if options["path"] == "data/b":
            raise Failure("broken")
        return original(self, *segments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "download", download)
        assert ana("local", "pull", folder).code == 1
    assert contents(folder)["b"] == "data/b"
    assert contents(folder)["a"] == "remote a"
    ana.ok("local", "pull", folder)
    assert contents(folder) == {"a": "remote a", "b": "remote b", "c/d": "remote c/d"}
    assert ana.ok("local", "status", folder).out == ""


def test_an_interrupted_clone_cannot_be_committed_and_is_completed(
    ana, lake, tmp_path, monkeypatch
):
    lake.put("main/a", "a")
    lake.put("main/b", "b")
    lake.commit("main", "base")
    original = Connection.download

    def download(self, *segments, **options):
        if options["path"] == "b":
            raise Failure("broken")
        return original(self, *segments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "download", download)
        assert ana("local", "clone", lake.at("main/"), tmp_path / "clone").code == 1
    error = ana("local", "commit", tmp_path / "clone", "-m", "m", "--json").error
    assert error["kind"] == "interrupted"
    ana.ok("local", "checkout", tmp_path / "clone")
    assert contents(tmp_path / "clone") == {"a": "a", "b": "b"}
    assert ana.ok("local", "status", tmp_path / "clone").out == ""


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


def test_checkout_asks_before_it_discards(ana, cloned):
    lake, folder = cloned
    base = lake.head("main")
    lake.put("main/data/a", "second")
    lake.commit("main", "second")
    ana.ok("local", "pull", folder)
    write(folder / "b", "local")
    write(folder / "mine", "mine")
    assert ana("local", "checkout", folder, "--ref", base).code == 2
    assert (folder / "b").read_text() == "local"
    ana.ok("local", "checkout", "--all", folder.parent, "--ref", base, "--yes")
    assert contents(folder) == {"a": "data/a", "b": "data/b", "c/d": "data/c/d", "mine": "mine"}
    assert read_link(folder).source.ref == base
    assert ana("local", "checkout", folder, "--ref", lake.at("main/elsewhere/")).code == 2
    ana.ok("local", "checkout", folder, "--ref", lake.at("main"))
    assert contents(folder)["a"] == "second"
    assert read_link(folder).source.key == "data/"


@pytest.mark.parametrize("paths", [["../out"], ["x/../../out"], ["/abs"], ["a", "a/b"], ["a//b"]])
def test_paths_that_cannot_be_files_are_refused(ana, lake, tmp_path, paths):
    for path in paths:
        lake.put(f"main/data/{path}", "x")
    lake.commit("main", "base")
    folder = tmp_path / "in/clone"
    error = ana("local", "clone", lake.at("main/data/"), folder, "--json").error
    assert error["kind"] == "unsafe_path"
    assert list(folder.iterdir()) == []
    assert not (tmp_path / "in/out").exists()


def test_links_in_the_folder_are_refused(ana, cloned, tmp_path):
    lake, folder = cloned
    (tmp_path / "outside").mkdir()
    (folder / "c/d").unlink()
    (folder / "c").rmdir()
    (folder / "c").symlink_to(tmp_path / "outside")
    lake.put("main/data/c/new", "x")
    lake.commit("main", "theirs")
    for command in (("pull",), ("pull", "--force"), ("commit", "-m", "m"), ("status",)):
        error = ana("local", *command, folder, "--json").error
        assert (error["kind"], error["paths"]) == ("unsafe_path", ["c"])
    assert list((tmp_path / "outside").iterdir()) == []
    with pytest.raises(Failure):
        check_names(folder, ["c/new"])


def test_a_new_file_in_the_way_of_a_folder_stays(ana, cloned):
    lake, folder = cloned
    write(folder / "x", "mine")
    lake.put("main/data/x/y", "theirs")
    lake.commit("main", "theirs")
    for options in ((), ("--force",), ("--strategy", "source-wins")):
        error = ana("local", "pull", folder, *options, "--json").error
        assert error["kind"] == "unsafe_path"
    assert (folder / "x").read_text() == "mine"


def test_names_that_exclude_each_other_are_found():
    paths = ["a", "a/b", "C/x", "c/y", "d", "D", "e"]
    assert clashes(paths, fold=False) == ["a"]
    assert clashes(paths, fold=True) == ["C", "D", "a", "c", "d"]


def test_only_one_command_works_in_a_folder(ana, cloned):
    _, folder = cloned
    with exclusive(folder):
        assert ana("local", "pull", folder, "--json").error["kind"] == "busy"
    ana.ok("local", "pull", folder)
