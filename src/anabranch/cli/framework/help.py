"""The help of the program, of groups and of commands.

It is written from the declarations and not by the parser, so that it is the same in every Python
version and in the reference.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from anabranch.cli.framework.command import Command, Group, Option

__all__ = ["CommandEntry", "command_help", "group_help", "program_help", "usage"]

_WIDTH = 88
_GAP = 2
_WIDEST_TERM = 34


class CommandEntry(NamedTuple):
    """A top-level command: the module that declares its `COMMAND`, and its summary."""

    name: str
    module: str
    summary: str


def program_help(
    program: str, summary: str, sections: Sequence[tuple[str, Sequence[CommandEntry]]]
) -> str:
    """Returns the help of the program as a whole."""
    lines = [summary, "", f"Usage: {program} COMMAND [options]", ""]
    for title, words in sections:
        lines += [f"{title}:", *_definitions((word.name, word.summary) for word in words), ""]
    lines += [
        "Addresses have the form lakefs://repository/ref/path.",
        f"`{program} COMMAND --help` or `{program} help COMMAND` describes a command.",
    ]
    return "\n".join(lines)


def group_help(program: str, group: Group) -> str:
    """Returns the help of a group of commands."""
    lines = [group.summary, "", f"Usage: {program} {group.name} COMMAND [options]", ""]
    lines += _paragraphs(group.details)
    lines += ["Commands:", *_definitions((c.name, c.summary) for c in group.commands), ""]
    lines += [f"`{program} {group.name} COMMAND --help` describes a command."]
    return "\n".join(lines)


def command_help(program: str, command: Command, name: str) -> str:
    """Returns the help of a command; `name` is its name with that of its group, "repo list"."""
    lines = [command.summary, "", f"Usage: {usage(program, command, name)}", ""]
    lines += _paragraphs(command.details)
    if command.arguments:
        lines += ["Arguments:", *_definitions((a.name, a.help) for a in command.arguments), ""]
    if command.options:
        lines += ["Options:", *_definitions(map(_term, command.options)), ""]
    lines += ["Options of every command:", *_definitions(map(_term, command.shared_options))]
    if command.examples:
        lines += ["", "Examples:"]
        lines += [f"  {program} {example}" for example in command.examples]
    return "\n".join(lines)


def usage(program: str, command: Command, name: str) -> str:
    """Returns the usage line of a command."""
    words = [program, name]
    words += [f"{o.flags[-1]} {o.value}" for o in command.options if o.required]
    words += [f"[{a.name}]" if a.optional else a.name + "..." * a.repeat for a in command.arguments]
    return " ".join([*words, "[options]"])


def _term(option: Option) -> tuple[str, str]:
    term = f"{option.names} {option.value}".rstrip()
    # options without a short name are aligned with the long names of the others
    term = term if option.names.startswith("-") and len(option.flags) > 1 else f"    {term}"
    return term, option.note


def _definitions(pairs: Iterable[tuple[str, str]]) -> list[str]:
    pairs = list(pairs)
    width = min(max(len(term) for term, _ in pairs), _WIDEST_TERM)
    indent = " " * (2 + width + _GAP)
    lines = []
    for term, meaning in pairs:
        wrapped = textwrap.wrap(meaning, _WIDTH - len(indent)) or [""]
        if len(term) > width:
            lines.append(f"  {term}")
        else:
            lines.append(f"  {term.ljust(width + _GAP)}{wrapped.pop(0)}".rstrip())
        lines += [indent + line for line in wrapped]
    return lines


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n\n") if text else ():
        lines += [*textwrap.wrap(" ".join(paragraph.split()), _WIDTH), ""]
    return lines
