"""Completion: candidates, and bash itself, which completes with them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("home")


def complete(run, *words):
    return run.ok("complete-words", *words).out.splitlines()


def test_commands_are_completed(run):
    assert complete(run, "br") == ["branch", "branch-protect"]
    assert {"auth", "help", "repo"} <= set(complete(run, ""))
    assert complete(run, "fs", "pre") == ["presign"]
    assert complete(run, "auth", "us") == ["users"]
    assert complete(run, "auth", "users", "cred") == ["credentials"]
    assert "create" in complete(run, "auth", "users", "credentials", "")
    assert complete(run, "--json", "comm") == ["commit"]
    assert complete(run, "help", "auth", "gr") == ["groups"]


def test_options_and_their_values_are_completed(run):
    assert complete(run, "commit", "--mess") == ["--message"]
    assert complete(run, "auth", "explain", "--br") == ["--branch"]
    assert "--help" in complete(run, "repo", "list", "--")
    assert complete(run, "log", "--graph", "--js") == ["--json"]


@pytest.mark.parametrize(
    "words", [("nothing", ""), ("fs", "cat", ""), ("fs", "nothing", ""), ("repo", "list", "--x")]
)
def test_where_nothing_is_known_nothing_is_completed(run, words):
    assert complete(run, *words) == []


@pytest.fixture
def program(tmp_path):
    """A folder with this program as `anabranch`."""
    for name in ("anabranch", "ana"):
        file = tmp_path / name
        file.write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m anabranch.cli.main "$@"\n'
        )
        file.chmod(0o755)
    return tmp_path


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["anabranch", "fs", "pre"], ["presign"]),
        (["ana", "auth", "groups", "mem"], ["members"]),
        (["anabranch", "commit", "--mess"], ["--message"]),
        (["anabranch", "fs", "cat", ""], []),
        (["anabranch", "branch", "*"], []),
    ],
)
def test_bash_completes_with_what_the_program_prints(program, words, expected):
    script = f"""
        set -eu
        PATH={shlex.quote(str(program))}:$PATH
        source <(anabranch completion bash)
        complete -p {words[0]} >/dev/null
        COMP_WORDS=({shlex.join(words)})
        COMP_CWORD={len(words) - 1}
        "$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
        printf '%s\\n' ${{COMPREPLY[@]+"${{COMPREPLY[@]}}"}}
    """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script_that_asks_the_program(run, shell):
    out = run.ok("completion", shell).out
    assert "complete-words" in out
