"""The entry point of `anabranch` and `ana`: finds the command, runs it, explains what failed.

A command's module is imported only when its word was typed, and the HTTP client only when the
command connects, because every command should answer at once. To add a command, write a module
of this room that declares `COMMAND` and add its line to `SECTIONS`.

Exit codes: 0 done, 1 failed, 2 not understood, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from anabranch.cli.call import Call
from anabranch.cli.command import Command, Group
from anabranch.cli.failure import Failure, Usage, file_failure
from anabranch.cli.help import Word, command_help, group_help, program_help
from anabranch.cli.output import Output
from anabranch.cli.parsing import choose, closest, parse, split_globals
from anabranch.errors import AnabranchError

__all__ = ["SECTIONS", "SUMMARY", "load", "main"]

SUMMARY = "Git for data lakes: branches, commits, merges and tags over the objects of a store"

SECTIONS = (
    (
        "Repositories and references",
        (
            Word("repo", "anabranch.cli.repo", "List, create, show and delete repositories"),
            Word("branch", "anabranch.cli.branch", "List, create, show, delete and reset branches"),
            Word(
                "branch-protect",
                "anabranch.cli.branch_protection",
                "List, add and delete rules that protect branches",
            ),
            Word("tag", "anabranch.cli.tag", "List, create, show and delete tags"),
        ),
    ),
    (
        "Changes and history",
        (
            Word("commit", "anabranch.cli.commit", "Commit a branch's changes"),
            Word("diff", "anabranch.cli.diff", "Show what changed"),
            Word("log", "anabranch.cli.log", "Show the history of a branch, tag or commit"),
            Word("merge", "anabranch.cli.merge", "Merge a branch, tag or commit into a branch"),
            Word("show", "anabranch.cli.show", "Show a commit"),
            Word("find-merge-base", "anabranch.cli.merge_base", "Show where two histories part"),
        ),
    ),
    (
        "Objects",
        (
            Word("fs", "anabranch.cli.fs.group", "List, read, upload, download and remove objects"),
            Word(
                "image",
                "anabranch.cli.image.group",
                "Build images from Lakefiles; read and remove them",
            ),
            Word("import", "anabranch.cli.imports", "Bring objects of the store onto a branch"),
            Word("export", "anabranch.cli.exports", "Copy a commit to a plain folder or prefix"),
        ),
    ),
    (
        "Servers",
        (
            Word("serve", "anabranch.cli.serve", "Serve a folder over HTTP"),
            Word("migrate", "anabranch.cli.migrate", "Make the tables that servers share"),
            Word(
                "gc",
                "anabranch.cli.garbage",
                "Find and remove objects that nothing keeps any more; rules of keeping",
            ),
            Word(
                "auth", "anabranch.cli.auth", "Make a new key pair for a locked-out administrator"
            ),
            Word("doctor", "anabranch.cli.doctor", "Look for what is wrong with a server's setup"),
            Word("quickstart", "anabranch.cli.quickstart", "Start a server and play a story"),
        ),
    ),
    (
        "This program",
        (
            Word("login", "anabranch.cli.login", "Write down a server and its credentials"),
            Word("config", "anabranch.cli.config", "Show the settings in force"),
            Word("version", "anabranch.cli.version", "Show the versions of client and server"),
        ),
    ),
)


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command that `words`, by default those typed, ask for. Returns the exit code."""
    words = sys.argv[1:] if words is None else words
    output = _output(words, os.environ)
    try:
        code = _run(words, output, os.environ)
        output.out.flush()
    except BrokenPipeError:
        # who reads has seen enough; nothing may be flushed into the closed pipe at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Failure.exit_code
    except KeyboardInterrupt:
        output.note("interrupted")
        return 130
    except AnabranchError as error:
        failure = error if isinstance(error, Failure) else Failure(error.message, hint=error.hint)
        output.error(failure)
        return failure.exit_code
    except OSError as error:
        output.error(file_failure(error))
        return Failure.exit_code
    return code


def load(word: Word) -> Command | Group:
    """Returns what the word's module declares."""
    command: Command | Group = import_module(word.module).COMMAND
    return command


def _run(words: Sequence[str], output: Output, environment: Mapping[str, str]) -> int:
    leading, rest = split_globals(words)
    if "--version" in leading:
        rest = ["version", *rest]
        leading.remove("--version")
    if not rest:
        output.line(program_help("anabranch", SUMMARY, SECTIONS))
        return 0
    declared = load(_word(rest[0]))
    rest = [*leading, *rest[1:]]
    name = declared.name
    command: Command | None
    if isinstance(declared, Group):
        command, rest = choose(declared, rest)
        if command is None:
            output.line(group_help("anabranch", declared))
            return 0
        name = f"{name} {command.name}"
    else:
        command = declared
    arguments = parse(f"anabranch {name}", command, rest)
    if arguments.help:
        output.line(command_help("anabranch", command, name))
        return 0
    return _call(command, Call(name, arguments, output, environment))


def _call(command: Command, call: Call) -> int:
    try:
        return command.run(call) or 0
    except Failure as failure:
        if failure.status == 404 and call.connected:  # noqa: PLR2004
            from anabranch.cli.suggestion import suggestion  # noqa: PLC0415  after a failure only

            failure.hint = suggestion(failure, call.connection) or failure.hint
        raise
    finally:
        call.close()


def _word(name: str) -> Word:
    words = {word.name: word for _, section in SECTIONS for word in section}
    if name not in words:
        hint = closest(name, list(words)) or "`anabranch --help` shows the commands."
        raise Usage(f"there is no command {name!r}", hint=hint)
    return words[name]


def _output(words: Sequence[str], environment: Mapping[str, str]) -> Output:
    """Decides how to print before anything is parsed, as parsing may fail."""
    options = words[: list(words).index("--")] if "--" in words else words
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    return Output(
        sys.stdout,
        sys.stderr,
        json="--json" in options,
        colour=False if "--no-color" in options else None,
        environment=environment,
    )


if __name__ == "__main__":
    sys.exit(main())
