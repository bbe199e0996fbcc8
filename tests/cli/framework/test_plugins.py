"""Programs on PATH that add commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from anabranch.cli.framework.plugins import find_plugins


@pytest.fixture
def folders(tmp_path):
    """Two folders with plugins; the first is searched first."""
    for name, folder in (
        ("lakectl-hello", "first"),
        ("anabranch-hello", "second"),
        ("anabranch-both", "first"),
        ("anabranch-both", "second"),
        ("lakectl-commit", "first"),
        ("anabranch-not.one", "first"),
        ("anabranch-", "first"),
    ):
        file = tmp_path / folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'#!/bin/sh\necho "{folder}/{name}:$*"\nexit 3\n')
        file.chmod(0o755)
    (tmp_path / "first" / "anabranch-readable").write_text("no program")
    (tmp_path / "first" / "anabranch-folder").mkdir()
    return tmp_path


def path(folders):
    return os.pathsep.join(
        ["", str(folders / "first"), str(folders / "second"), str(folders / "absent")]
    )


def test_own_plugins_come_before_those_of_lakectl_and_then_the_path_counts(folders):
    found = find_plugins({"PATH": path(folders)})
    assert {name: str(file.relative_to(folders)) for name, file in found.items()} == {
        "both": "first/anabranch-both",
        "commit": "first/lakectl-commit",
        "hello": "second/anabranch-hello",
    }
    assert find_plugins({}) == {}


def test_plugins_are_listed(run, folders, monkeypatch):
    monkeypatch.setenv("PATH", path(folders))
    rows = run.ok("plugin", "list").rows
    assert [row[0] for row in rows] == ["both", "commit", "hello"]
    assert run.ok("plugin", "list", "--json").json[0]["name"] == "both"


def test_an_unknown_command_runs_the_plugin_with_its_arguments_and_exit_code(folders):
    environment = {**os.environ, "PATH": path(folders), "HOME": str(folders)}
    done = subprocess.run(
        [sys.executable, "-m", "anabranch.cli.main", "hello", "lakefs://a", "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "second/anabranch-hello:lakefs://a --json\n")


def test_a_command_is_never_replaced_by_a_plugin(run, folders, monkeypatch):
    monkeypatch.setenv("PATH", path(folders))
    assert "Commit a branch's changes" in run.ok("commit", "--help").out
    assert run("absent").code == 2
