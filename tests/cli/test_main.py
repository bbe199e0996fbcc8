"""The entry point: help, mistakes, exit codes, and what is imported when."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from anabranch.cli.framework.command import Group
from anabranch.cli.main import SECTIONS, load, main

pytestmark = pytest.mark.usefixtures("home")

WORDS = [word for _, words in SECTIONS for word in words]
SLOW_MODULES = (
    *("httpx2", "http.client", "rich", "yaml", "anabranch.library", "apsw", "asyncio"),
    *("mcp", "mcp_types", "pydantic"),
)


def commands():
    for word in WORDS:
        declared = load(word)
        if isinstance(declared, Group):
            yield from (
                ([word.name, *command.name.split()], command) for command in declared.commands
            )
        else:
            yield [word.name], declared


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["--json", "--help"]])
def test_the_help_of_the_program(run, words):
    out = run.ok(*words).out
    assert out.startswith("Git for data lakes")
    for word in WORDS:
        assert f"  {word.name} " in out
        assert word.summary in out


@pytest.mark.parametrize(
    "word", [w for w in WORDS if isinstance(load(w), Group)], ids=lambda w: w.name
)
def test_the_help_of_a_group(run, word):
    group = load(word)
    asked = [[word.name, "--help"], ["--help", word.name]]
    for words in asked if group.runs_alone else [[word.name], *asked]:
        out = run.ok(*words).out
        unwrapped = " ".join(out.split())
        assert all(f"  {c.name}" in out and c.summary in unwrapped for c in group.commands)
    assert group.name == word.name
    assert group.summary == word.summary


def test_the_help_of_a_command_names_everything(run):
    for words, command in commands():
        out = run.ok(*words, "--help").out
        assert out.splitlines()[0] == command.summary
        for argument in command.arguments:
            assert f"  {argument.name} " in out, words
        for option in (*command.options, *command.shared_options):
            assert option.names in out, words
        assert command.examples, words
        assert max(map(len, out.splitlines())) <= 100, words


def test_examples_begin_with_the_command():
    for words, command in commands():
        for example in command.examples:
            start = words if example.startswith(" ".join(words)) else words[:1]
            assert example.split()[: len(start)] == start


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["brnch"], "unknown command: 'brnch'", "Did you mean branch or branch-ends?"),
        (["qqq"], "unknown command: 'qqq'", "`anabranch --help` shows the commands."),
        (["repo", "lst"], "repo has no command 'lst'", "Did you mean list?"),
        (["commit", "lakefs://flights/main"], "a commit needs a message", "-m"),
        (["repo", "list", "--server", "x"], "'x' is not a server's address", "http://"),
        (["diff", "flights/main"], "does not begin with lakefs://", "lakefs://"),
        (["fs", "stat", "lakefs://flights/main"], "names no object", "lakefs://"),
        (
            ["merge", "lakefs://abc/x", "lakefs://xyz/y"],
            "different repositories",
            "same repository",
        ),
        (["repo", "delete", "lakefs://flights"], "Standard input is not a terminal", "--yes"),
    ],
)
def test_mistakes_exit_with_2_and_a_hint_on_standard_error(run, words, message, hint):
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err.splitlines()[0]
    assert hint in ran.err.splitlines()[-1]
    assert ran.err.splitlines()[-1].startswith("hint:  ")


def test_mistakes_as_json(run):
    ran = run("brnch", "--json")
    assert ran.error == {
        "kind": "usage",
        "message": "unknown command: 'brnch'",
        "hint": "Did you mean branch or branch-ends?",
    }


def test_a_server_that_is_not_there_exits_with_1(run):
    ran = run("repo", "list", "--server", "http://127.0.0.1:9")
    assert ran.code == 1
    lines = ran.err.splitlines()
    assert lines[0].startswith("error: cannot reach http://127.0.0.1:9: ")
    assert lines[1] == "where: GET http://127.0.0.1:9/api/v1/repositories"
    assert lines[2].startswith("hint:  Is the server running")


def test_a_version_without_a_server(run):
    ran = run.ok("version", "--server", "http://127.0.0.1:9", "--json")
    assert ran.json["server"]["error"].startswith("cannot reach")
    assert run.ok("--version").lines[0].startswith("Client:")


def test_a_reader_that_has_seen_enough_is_no_error():
    command = [sys.executable, "-m", "anabranch.cli.main", "log", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_colours_follow_the_wish(capsys):
    assert main(["brnch"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "words", [["--help"], ["repo", "--help"], ["log", "--help"], ["mcp", "--help"], ["brnch"]]
)
def test_help_imports_nothing_slow(words):
    code = (
        "import sys; from anabranch.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "anabranch.cli.main" in loaded
    assert not loaded & set(SLOW_MODULES)


def test_a_request_does_not_import_what_only_some_need():
    code = (
        "import sys; from anabranch.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    )
    words = ["repo", "list", "--server", "http://127.0.0.1:9"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "http.client" in loaded
    assert not loaded & {"httpx2", "rich", "yaml", "anabranch.library", "apsw", "asyncio"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["repo", "list"], ["--help"], ["version"]], ids=lambda words: words[0]
)
def test_a_command_starts_in_the_time_of_a_few_standard_modules(words):
    """Beside a program that imports three of them, in the same seconds: machines differ."""

    def cpu(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *command],
            capture_output=True,
            check=False,
            env={**os.environ, "ANABRANCH_SERVER": "http://127.0.0.1:9"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    imports = "import argparse, hashlib, http.client, json"
    pairs = [(cpu("-m", "anabranch.cli.main", *words), cpu("-c", imports)) for _ in range(5)]
    # the least of several: others may be using the machine
    assert min(ours for ours, _ in pairs) < 4 * min(standard for _, standard in pairs)


@pytest.mark.parametrize(
    "words", [("auth", "users", "--help"), ("help", "auth", "users"), ("--help", "auth", "users")]
)
def test_the_help_of_commands_with_a_common_word(run, words):
    lines = run.ok(*words).out.splitlines()
    assert "Usage: anabranch auth users COMMAND [options]" in lines
    assert any(line.startswith("  credentials create") for line in lines)
    assert not any(line.startswith("  explain") for line in lines)


def test_help_is_a_command_too(run):
    assert run.ok("help").out == run.ok("--help").out
    assert run.ok("help", "commit").out == run.ok("commit", "--help").out
    assert run.ok("help", "fs").out == run.ok("fs", "--help").out
    assert run("help", "nothing").code == 2
    assert run("auth", "users").code == 2


def every_command():
    """Yields the words of every group and command."""
    for _, section in SECTIONS:
        for entry in section:
            declared = load(entry)
            yield [entry.name]
            if isinstance(declared, Group):
                for command in declared.commands:
                    words = command.name.split()
                    yield from ([entry.name, *words[:count]] for count in range(1, len(words) + 1))


def test_help_is_at_every_level(run):
    for words in every_command():
        asked = run.ok(*words, "--help").out
        assert f"anabranch {' '.join(words)}" in asked
        assert run.ok("help", *words).out == asked
        assert run.ok(*words, "-h").out == asked
    assert run.ok("help").out == run.ok("--help").out == run.ok().out
    assert run("help", "nothing").code == 2
