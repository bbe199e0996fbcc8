"""Completion: candidates, and the shells themselves, which complete with them."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import socket
import subprocess
import time

import pytest
from support.session.forked_python import forked_python

pytestmark = pytest.mark.usefixtures("home")


def complete(run, *words):
    return run.ok("complete-words", *words).out.splitlines()


def test_commands_are_completed(run):
    assert complete(run, "br") == ["branch", "branch-ends", "branch-protect"]
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
            f'#!/bin/sh\nexec {shlex.quote(forked_python())} -m anabranch.cli.main "$@"\n'
        )
        file.chmod(0o755)
    return tmp_path


@pytest.mark.sample(3)
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
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        "$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
        printf '%s\\n' ${{COMPREPLY[@]+"${{COMPREPLY[@]}}"}}
    """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_has_a_script_that_asks_the_program(run, shell):
    out = run.ok("completion", shell).out
    assert "complete-words" in out


@pytest.fixture
def filled(lake, monkeypatch):
    # a busy machine may need longer than people wait
    monkeypatch.setenv("ANABRANCH_COMPLETION_TIMEOUT", "60")
    lake.commit("main", "base", **{"data/a.csv": "1", "data/b.csv": "2", "top": "3"})
    lake.branch("maintenance")
    lake.ana.ok("tag", "create", lake.at("major"), lake.at("main"))
    return lake


def test_addresses_are_completed_step_by_step(run, filled):
    name, uri = filled.name, filled.uri
    assert complete(run, "repo", "show", uri[:-2]) == [uri]
    assert complete(run, "branch", "list", "lakefs://" + name[:8])[0].startswith("lakefs://cli-")
    assert f"{uri}/" in complete(run, "log", uri)
    assert complete(run, "log", f"{uri}/ma") == [
        f"{uri}/main",
        f"{uri}/maintenance",
        f"{uri}/major",
    ]
    assert complete(run, "fs", "ls", f"{uri}/mai") == [f"{uri}/main/", f"{uri}/maintenance/"]
    assert complete(run, "fs", "cat", f"{uri}/main/") == [f"{uri}/main/data/", f"{uri}/main/top"]
    assert complete(run, "fs", "cat", f"{uri}/main/data/") == [
        f"{uri}/main/data/a.csv",
        f"{uri}/main/data/b.csv",
    ]
    assert complete(run, "fs", "cat", f"{uri}/main/data/b") == [f"{uri}/main/data/b.csv"]
    assert complete(run, "branch", "create", f"{uri}/x", "--source", "maj") == ["major"]
    assert complete(run, "log", f"{uri}/main", "") == []


def test_paths_that_a_terminal_or_a_shell_would_obey_do_neither(run, filled, program):
    """A path may be anything: escape sequences are no candidates, and a command stays a word."""
    for path in ("odd/\x1b]0;title\x07", "odd/a\nb", "odd/$(touch made)"):
        filled.commit("main", "odd", **{path: "1"})
    begun = f"{filled.uri}/main/odd/"
    assert complete(run, "fs", "cat", begun) == [f"{begun}$(touch made)"]
    script = f"""
        PATH={shlex.quote(str(program))}:$PATH
        cd {shlex.quote(str(program))}
        source <(anabranch completion bash)
        COMP_WORDS=(anabranch fs cat {begun}) COMP_CWORD=3 COMP_WORDBREAKS=$' '
        _anabranch
        eval "printf '%s\\n' ${{COMPREPLY[0]}}"
    """
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{begun}$(touch made)\n"
    assert not (program / "made").exists()


@pytest.mark.parametrize("address", ["", "lak", "lakefs://", "lakefs://none/", "lakefs://none/a/b"])
def test_a_server_that_is_away_completes_nothing_and_says_nothing(run, address, monkeypatch):
    monkeypatch.setenv("ANABRANCH_SERVER", "http://127.0.0.1:9")
    ran = run("complete-words", "fs", "cat", address)
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_invalid_settings_complete_nothing_and_say_nothing(run, monkeypatch):
    monkeypatch.setenv("ANABRANCH_SERVER", "nonsense")
    ran = run("complete-words", "fs", "cat", "lakefs://a")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.mark.slow
def test_a_silent_server_is_waited_for_a_second_at_most(run, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ANABRANCH_SERVER", f"http://127.0.0.1:{silent.getsockname()[1]}")
        start = time.monotonic()
        assert complete(run, "fs", "cat", "lakefs://a") == []
        assert time.monotonic() - start < 30  # a busy machine; without a limit it would be 60


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_an_address_in_a_terminal(program, filled):
    """The colon of an address ends words in bash: only a real line shows what becomes of it."""
    main, follower = pty.openpty()
    environment = {
        **os.environ,
        "PATH": f"{program}:{os.environ['PATH']}",
        "PS1": "> ",
        "TERM": "dumb",
    }
    with subprocess.Popen(
        ["bash", "--norc", "-i"],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    ) as shell:
        try:
            os.write(main, b"source <(anabranch completion bash); echo re''ady\n")
            assert read_until(main, "ready\r\n")
            os.write(main, f"anabranch fs cat {filled.uri}/main/data/b\t".encode())
            assert read_until(main, f"fs cat {filled.uri}/main/data/b.csv ")
            os.write(main, f"\x15anabranch fs ls {filled.uri}/main/d\t".encode())
            assert read_until(main, f"fs ls {filled.uri}/main/data/")
        finally:
            shell.kill()
            os.close(follower)
            os.close(main)


def read_until(descriptor, text):
    """Reads a terminal until it has shown a text."""
    shown = ""
    deadline = time.monotonic() + 60
    while text not in shown and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 1)[0]:
            shown += os.read(descriptor, 4096).decode(errors="replace")
    assert text in shown
    return shown


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_words_and_addresses(program, filled):
    script = f"""
        PATH={shlex.quote(str(program))}:$PATH
        compdef() {{ }}
        _files() {{ print files }}
        compadd() {{
            [[ $1 == -S ]] && print -n "open " && shift 2
            print -rl -- "${{(@P)2}}"
        }}
        source <(anabranch completion zsh)
        complete_line() {{ words=("$@"); CURRENT=$#; _anabranch }}
        complete_line anabranch fs pre
        complete_line anabranch fs cat {filled.uri}/main/
        complete_line anabranch serve ''
    """
    done = subprocess.run(
        ["zsh", "-f", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split("\n")[:-1] == [
        "presign",
        f"open {filled.uri}/main/data/",
        f"{filled.uri}/main/top",
        "files",
    ]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_words_and_addresses(program, filled):
    script = f"""
        set -x PATH {shlex.quote(str(program))} $PATH
        anabranch completion fish | source
        complete -C 'anabranch fs pre'
        complete -C 'anabranch fs cat {filled.uri}/main/d'
    """
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["presign", f"{filled.uri}/main/data/"]
