"""`local` against a real server: folders that are kept in step with a branch."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.linked_folders import LINK, branches, contents, write

from anabranch.cli.client.connection import Connection
from anabranch.cli.commands.local import pull
from anabranch.cli.commands.local.git_ignore import ignore_in_git
from anabranch.cli.commands.local.link import exclusive, read_link
from anabranch.cli.commands.local.safe_names import check_names, clashes
from anabranch.cli.errors import Failure


@contextmanager
def broken_download(monkeypatch, path):
    """Lets the download of a path fail while the context is entered."""
    original = Connection.download

    def download(self, *segments, **options):
        if options["path"] == path:
            raise Failure("broken")
        return original(self, *segments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "download", download)
        yield


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
    assert ana("local", "commit", "-m", "m", folder, "--json").error["kind"] == "interrupted"
    for completing in ("pull", "checkout"):
        (folder / LINK).write_text((folder / LINK).read_text().replace("''", "pull"))
        ana.ok("local", completing, folder)
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


def test_pull_with_conflicts_changes_nothing(ana, diverged):
    lake, folder, _ = diverged
    assert ["both", "conflict", "a"] in ana.ok("local", "status", folder).rows
    before = contents(folder), (folder / LINK).read_text()
    ran = ana("local", "pull", folder, "--json")
    assert (ran.code, ran.error["paths"]) == (1, ["data/a"])
    assert (contents(folder), (folder / LINK).read_text()) == before
    assert branches(lake) == ["main"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("side", "text"), [("source-wins", "remote a"), ("dest-wins", "local")])
def test_pull_settles_conflicts(ana, diverged, side, text):
    _, folder, theirs = diverged
    ana.ok("local", "pull", folder, "--resolve", f"data/*={side}")
    assert contents(folder) == {"a": text, "c/d": "data/c/d", "e": "remote e", "mine": "mine"}
    assert read_link(folder).head == theirs
    changed = [["local", "changed", "a"]] if side == "dest-wins" else []
    rows = ana.ok("local", "status", folder).rows
    assert rows == [*changed, ["local", "added", "mine"]]


@pytest.mark.sample(1)
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


def test_pull_with_force_discards_changes_of_objects_only(ana, diverged):
    _, folder, theirs = diverged
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


def test_pull_replaces_a_file_that_has_only_a_new_time(ana, cloned):
    lake, folder = cloned
    write(folder / "a", "data/a")
    lake.put("main/data/a", "remote a")
    lake.commit("main", "theirs")
    ana.ok("local", "pull", folder)
    assert contents(folder)["a"] == "remote a"
    assert ana.ok("local", "status", folder).out == ""


@pytest.mark.parametrize("removed", [False, True])
def test_a_file_that_is_edited_during_a_pull_stays(ana, cloned, monkeypatch, removed):
    lake, folder = cloned
    if removed:
        ana.ok("fs", "rm", lake.at("main/data/a"))
    else:
        lake.put("main/data/a", "remote a")
    lake.commit("main", "theirs")
    original = pull.check_bring

    def check_bring(*arguments):
        original(*arguments)
        write(folder / "a", "edited")

    with monkeypatch.context() as patch:
        patch.setattr(pull, "check_bring", check_bring)
        assert ana("local", "pull", folder, "--json").error["kind"] == "file_error"
    assert contents(folder)["a"] == "edited"
    assert ana("local", "pull", folder, "--json").error["paths"] == ["data/a"]


def test_an_interrupted_pull_is_completed_by_the_next(ana, cloned, monkeypatch):
    lake, folder = cloned
    for name in ("a", "b", "c/d"):
        lake.put(f"main/data/{name}", f"remote {name}")
    lake.commit("main", "theirs")
    with broken_download(monkeypatch, "data/b"):
        assert ana("local", "pull", folder).code == 1
    assert contents(folder)["b"] == "data/b"
    assert contents(folder)["a"] == "remote a"
    write(folder / "mine", "mine")
    interrupted = ana("local", "status", folder)
    assert interrupted.code == 1
    assert [row for row in interrupted.rows if row[0] != "remote"] == [["local", "added", "mine"]]
    assert "`pull` was interrupted" in interrupted.err
    assert "anabranch local pull" in interrupted.err
    assert ana("local", "commit", folder, "-m", "m", "--json").error["kind"] == "interrupted"
    (folder / "mine").unlink()
    ana.ok("local", "pull", folder)
    assert contents(folder) == {"a": "remote a", "b": "remote b", "c/d": "remote c/d"}
    assert ana.ok("local", "status", folder).out == ""


def test_an_interrupted_clone_cannot_be_committed_and_is_completed(
    ana, lake, tmp_path, monkeypatch
):
    lake.put("main/a", "a")
    lake.put("main/b", "b")
    lake.commit("main", "base")
    with broken_download(monkeypatch, "b"):
        assert ana("local", "clone", lake.at("main/"), tmp_path / "clone").code == 1
    error = ana("local", "commit", tmp_path / "clone", "-m", "m", "--json").error
    assert error["kind"] == "interrupted"
    (tmp_path / "clone/.anabranch-0123456789abcdef.part").write_text("of a process that was killed")
    ana.ok("local", "checkout", tmp_path / "clone")
    assert contents(tmp_path / "clone") == {"a": "a", "b": "b"}
    assert ana.ok("local", "status", tmp_path / "clone").out == ""


def test_an_interrupted_checkout_is_completed_or_undone(ana, cloned, monkeypatch):
    lake, folder = cloned
    base = lake.head("main")
    for name in ("a", "b"):
        lake.put(f"main/data/{name}", f"DATA/{name}")  # of the same size, maybe in the same second
    lake.commit("main", "second")
    with broken_download(monkeypatch, "data/b"):
        assert ana("local", "checkout", folder).code == 1
    assert contents(folder) == {"a": "DATA/a", "b": "data/b", "c/d": "data/c/d"}
    assert ana("local", "pull", folder, "--json").error["kind"] == "interrupted"
    ana.ok("local", "checkout", folder, "--ref", base, "--yes")
    assert contents(folder) == {"a": "data/a", "b": "data/b", "c/d": "data/c/d"}
    ana.ok("local", "checkout", folder, "--ref", "main")
    assert contents(folder) == {"a": "DATA/a", "b": "DATA/b", "c/d": "data/c/d"}


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


def test_a_clone_that_was_killed_says_so_and_is_completed(ana, lake, tmp_path):
    for name in ("a", "b", "c"):
        lake.put(f"main/{name}", name)
    lake.commit("main", "base")
    folder = tmp_path / "clone"
    program = (
        "import os, sys\n"
        "from anabranch.cli.client.connection import Connection\n"
        "from anabranch.cli.main import main\n"
        "download = Connection.download\n"
        "def die(self, *segments, **options):\n"
        "    if options['path'] == 'b': os.kill(os.getpid(), 9)\n"
        "    return download(self, *segments, **options)\n"
        "Connection.download = die\n"
        "main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", program, "local", "clone", lake.at("main/"), str(folder)]
    assert subprocess.run(command, check=False, timeout=200).returncode == -9
    status = ana("local", "status", folder)
    assert (status.code, status.rows) == (1, [])
    assert "`clone` was interrupted" in status.err
    assert "anabranch local checkout" in status.err
    again = ana("local", "clone", lake.at("main/"), folder, "--json")
    assert again.error["kind"] == "interrupted"
    ana.ok("local", "checkout", folder)
    assert contents(folder) == {"a": "a", "b": "b", "c": "c"}
    assert ana.ok("local", "status", folder).out == ""
