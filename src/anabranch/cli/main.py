"""The entry point of `anabranch` and `ana`: finds the command, runs it, and reports failures.

A command's module is imported only when the command is used, and the HTTP client only when the
command connects, because every command should answer at once. To add a command, write a module in
its noun's folder in `commands/` that declares `COMMAND` and add its line to `SECTIONS`.

Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from anabranch.cli.errors import Failure, Usage, file_failure
from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.completion import HELP, candidates
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.help import CommandEntry, command_help, group_help, program_help
from anabranch.cli.framework.lakectl_names import own_name
from anabranch.cli.framework.parsing import choose, commands_below, parse, split_globals
from anabranch.cli.framework.plugins import find_plugins, run_plugin
from anabranch.cli.output.streams import Output
from anabranch.errors import AnabranchError
from anabranch.errors.did_you_mean import closest

__all__ = ["SECTIONS", "SUMMARY", "load", "main"]

SUMMARY = "Git for data lakes: branches, commits, merges and tags over the objects of a store"

SECTIONS = (
    (
        "Repositories and references",
        (
            CommandEntry("repo", "repositories.repo", "List, create, show and delete repositories"),
            CommandEntry(
                "branch",
                "references.branch",
                "List, create, show, expire, delete and reset branches; revert commits",
            ),
            CommandEntry(
                "branch-protect",
                "references.branch_protection",
                "List, add and delete rules that protect branches",
            ),
            CommandEntry(
                "branch-ends",
                "references.branch_ends",
                "List, add and delete rules by which new branches end",
            ),
            CommandEntry(
                "notifications",
                "repositories.notifications",
                "Send what happens in a repository to addresses",
            ),
            CommandEntry(
                "workspace",
                "workspaces.group",
                "Give programs branches that end, with keys of their own",
            ),
            CommandEntry("tag", "references.tag", "List, create, show and delete tags"),
            CommandEntry(
                "op",
                "references.operations",
                "Show and undo changes; restore branches and tags",
            ),
            CommandEntry(
                "undo",
                "references.undo",
                "Change branches and tags back to what they were before an operation",
            ),
            CommandEntry(
                "refs",
                "repositories.refs_dump",
                "Dump and restore the commits, branches and tags of a repository",
            ),
        ),
    ),
    (
        "Changes and history",
        (
            CommandEntry("commit", "commits.commit", "Commit a branch's changes"),
            CommandEntry("diff", "differences.diff", "Show what changed"),
            CommandEntry("log", "commits.log", "Show the history of a branch, tag or commit"),
            CommandEntry("merge", "commits.merge", "Merge a branch, tag or commit into a branch"),
            CommandEntry(
                "cherry-pick", "commits.cherry_pick", "Apply the changes of one commit to a branch"
            ),
            CommandEntry(
                "rebase", "commits.rebase", "Replay a branch's own commits onto another reference"
            ),
            CommandEntry(
                "annotate", "commits.annotate", "Show the last commit that changed each object"
            ),
            CommandEntry(
                "bisect", "bisect.group", "Find the first bad commit by testing few commits"
            ),
            CommandEntry("actions", "actions", "Validate action files; run hooks; show their runs"),
            CommandEntry("pr", "pulls.pr", "List, create, review and merge pull requests"),
            CommandEntry("show", "commits.show", "Show a commit"),
            CommandEntry(
                "find-merge-base", "commits.merge_base", "Show the merge base of two references"
            ),
        ),
    ),
    (
        "Objects",
        (
            CommandEntry("fs", "fs.group", "List, read, upload, download and remove objects"),
            CommandEntry("query", "query", "Query objects and metadata with SQL"),
            CommandEntry(
                "table",
                "tables.group",
                "List, show and compare tables; register Iceberg tables, expire snapshots",
            ),
            CommandEntry("local", "local.group", "Keep a folder in step with a path of a branch"),
            CommandEntry(
                "image",
                "image.group",
                "Build images from Lakefiles; read and remove them",
            ),
            CommandEntry(
                "import", "imports", "Add existing objects of the object store to a branch"
            ),
            CommandEntry("export", "exports", "Copy a commit to a plain folder or prefix"),
        ),
    ),
    (
        "Servers",
        (
            CommandEntry("serve", "servers.serve", "Serve a folder over HTTP"),
            CommandEntry(
                "migrate",
                "migrate.group",
                "Prepare a shared database; take over the database of lakeFS",
            ),
            CommandEntry(
                "gc",
                "garbage.group",
                "Find and remove objects that nothing refers to; retention rules",
            ),
            CommandEntry(
                "auth", "auth.group", "Administer users, groups, policies and access keys"
            ),
            CommandEntry("audit", "servers.audit", "Search and verify the audit log"),
            CommandEntry("doctor", "servers.doctor", "Check a server's settings, stores and clock"),
            CommandEntry(
                "backup",
                "servers.backup",
                "Make, list, verify and prune backups of an installation",
            ),
            CommandEntry("restore", "servers.restore", "Restore a backup to a new place"),
            CommandEntry(
                "fsck", "servers.fsck", "Verify an installation: records, tables, objects"
            ),
            CommandEntry(
                "mcp",
                "servers.mcp",
                "Serve tools for language models on standard input and output",
            ),
            CommandEntry("usage", "servers.usage", "Show how many requests the server has served"),
            CommandEntry(
                "quickstart", "servers.quickstart", "Start a server with a sample repository"
            ),
        ),
    ),
    (
        "This program",
        (
            CommandEntry("login", "program.login", "Save the address and credentials of a server"),
            CommandEntry("config", "program.config", "Show the settings in force"),
            CommandEntry("identity", "program.identity", "Show which user you are"),
            CommandEntry(
                "completion",
                "program.completion",
                "Print what makes a shell complete commands, options and addresses",
            ),
            CommandEntry("plugin", "program.plugin", "List the programs that add commands"),
            CommandEntry("version", "program.version", "Show the versions of client and server"),
        ),
    ),
)


_COMPLETE = "complete-words"
"""The word by which shells ask for completions; see `framework/completion.py`."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command of the arguments `words`, by default those of the process. Returns the exit
    code.
    """
    words = sys.argv[1:] if words is None else words
    output = _output(words, os.environ)
    try:
        code = _run(words, output, os.environ)
        output.out.flush()
    except BrokenPipeError:
        # the reader has closed the pipe; nothing may be flushed into it at exit
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


def load(word: CommandEntry) -> Command | Group:
    """Returns the `COMMAND` of an entry's module."""
    command: Command | Group = import_module(f"anabranch.cli.commands.{word.module}").COMMAND
    return command


def _run(words: Sequence[str], output: Output, environment: Mapping[str, str]) -> int:
    if list(words[:1]) == [_COMPLETE]:
        return _complete(words[1:], output, environment)
    leading, rest = split_globals(words)
    if rest[:1] == [HELP]:
        leading, rest = [*leading, "--help"], rest[1:]
    if "--version" in leading:
        rest = ["version", *rest]
        leading.remove("--version")
    if not rest:
        output.page(program_help("anabranch", SUMMARY, SECTIONS))
        return 0
    plugin = None if leading else _plugin(rest[0], environment)
    if plugin is not None:
        output.out.flush()
        return run_plugin(plugin, rest[1:], environment)
    return _run_command(leading, own_name(rest), output, environment)


def _complete(words: Sequence[str], output: Output, environment: Mapping[str, str]) -> int:
    try:
        found = candidates(words, _entries(), load, environment)
    except Exception:  # noqa: BLE001  an error has no place in a line that is being typed
        found = []
    output.out.writelines(f"{word}\n" for word in found)
    return 0


def _run_command(
    leading: list[str], rest: list[str], output: Output, environment: Mapping[str, str]
) -> int:
    declared = load(_word(rest[0]))
    rest = [*leading, *rest[1:]]
    name = declared.name
    command: Command | None
    if isinstance(declared, Group):
        below = commands_below(declared, rest)
        if below is not None:
            output.page(group_help("anabranch", below))
            return 0
        command, rest = choose(declared, rest)
        if command is None:
            output.page(group_help("anabranch", declared))
            return 0
        name = f"{name} {command.name}"
    else:
        command = declared
    arguments = parse(f"anabranch {name}", command, rest)
    if arguments.help:
        output.page(command_help("anabranch", command, name))
        return 0
    return _call(command, CommandContext(name, arguments, output, environment))


def _call(command: Command, context: CommandContext) -> int:
    try:
        return command.run(context) or 0
    except Failure as failure:
        if failure.status == 404 and context.connected:  # noqa: PLR2004
            from anabranch.cli.framework.similar_names import suggestion  # noqa: PLC0415  after a failure only

            failure.hint = suggestion(failure, context.connection) or failure.hint
        raise
    finally:
        context.close()


def _plugin(name: str, environment: Mapping[str, str]) -> Path | None:
    if own_name([name]) != [name] or any(entry.name == name for entry in _entries()):
        return None
    return find_plugins(environment).get(name)


def _entries() -> list[CommandEntry]:
    return [entry for _, section in SECTIONS for entry in section]


def _word(name: str) -> CommandEntry:
    words = {entry.name: entry for entry in _entries()}
    if name not in words:
        hint = closest(name, list(words)) or "`anabranch --help` shows the commands."
        raise Usage(f"unknown command: {name!r}", hint=hint)
    return words[name]


def _output(words: Sequence[str], environment: Mapping[str, str]) -> Output:
    """Chooses the output format before arguments are parsed, because parsing may fail."""
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
