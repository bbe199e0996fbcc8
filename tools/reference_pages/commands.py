"""The page of all commands, docs/commands.md, from the declarations of the commands."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.cli.framework.command import (
    CONNECTION_OPTIONS,
    GENERAL_OPTIONS,
    Command,
    Group,
    Option,
)
from anabranch.cli.framework.help import usage
from anabranch.cli.framework.lakectl_names import LAKECTL_COMMANDS
from anabranch.cli.main import SECTIONS, SUMMARY, load

_PROGRAM = "anabranch"

_INTRODUCTION = f"""# Commands

{SUMMARY}.

`{_PROGRAM}` and `{_PROGRAM[:3]}` are the same program. `{_PROGRAM} COMMAND --help` shows what this
page says of a command. The page is made from the program: do not edit it, run `make reference`.

On a terminal, results are tables with colours, short commit ids, sizes in units and local times;
in a pipe, tab-separated lines without headings, whole ids, bytes and UTC; with `--json`, one JSON
document. What is longer than the terminal is shown by the pager that `PAGER` names, by default
`less`; `PAGER=cat` does without. Errors and remarks go to standard error. The exit code is 0 when
the work is done, 1 when it failed, 2 when the command was not understood.

`ls` and `list` stand for each other, and so do `rm`, `remove` and `delete`.
"""

_LAKECTL = """## From lakectl

Every visible command of lakectl has its counterpart, which takes the settings of
`~/.lakectl.yaml` and `LAKECTL_*` if nothing else names a server. `actions runs` is understood as it
is; `config` shows settings here, and `login` saves them. Plugins of lakectl run as well
(`plugin list`).
"""


def page() -> str:
    """Returns the page in Markdown."""
    parts = [_INTRODUCTION, _shared_options()]
    for title, words in SECTIONS:
        parts.append(f"## {title}\n")
        for word in words:
            declared = load(word)
            if isinstance(declared, Group):
                parts.append(_group(declared))
            else:
                parts.append(_command(declared, declared.name, "###"))
    parts.append(_lakectl())
    return "\n".join(parts).rstrip() + "\n"


def _lakectl() -> str:
    rows = [f"| `{theirs}` | `{ours}` |" for theirs, ours in LAKECTL_COMMANDS.items()]
    head = ["| lakectl 1.84 | Here |", "|---|---|"]
    return "\n".join([_LAKECTL, *head, *rows])


def _shared_options() -> str:
    connects = _options("Options of commands that talk to a server", CONNECTION_OPTIONS)
    return f"{_options('Options of every command', GENERAL_OPTIONS)}\n{connects}"


def _group(group: Group) -> str:
    parts = [f"### {_PROGRAM} {group.name}\n", f"{group.summary}.\n"]
    if group.details:
        parts.append(f"{group.details}\n")
    parts += [_command(each, f"{group.name} {each.name}", "####") for each in group.commands]
    return "\n".join(parts)


def _command(command: Command, name: str, heading: str) -> str:
    parts = [f"{heading} {_PROGRAM} {name}\n", f"{command.summary}.\n"]
    parts.append(f"```\n{usage(_PROGRAM, command, name)}\n```\n")
    if command.details:
        parts.append(f"{command.details}\n")
    if command.arguments:
        rows = ((argument.name, argument.help) for argument in command.arguments)
        parts.append(_table("Argument", rows))
    if command.options:
        parts.append(_options("Option", command.options))
    if command.examples:
        lines = "\n".join(f"{_PROGRAM} {example}" for example in command.examples)
        parts.append(f"```sh\n{lines}\n```\n")
    return "\n".join(parts)


def _options(title: str, options: Iterable[Option]) -> str:
    rows = ((f"{option.names} {option.value}".rstrip(), option.note) for option in options)
    return _table(title, rows)


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {title} | |", "|---|---|"]
    lines += [f"| `{term}` | {meaning.replace('|', chr(92) + '|')} |" for term, meaning in rows]
    return "\n".join(lines) + "\n"
