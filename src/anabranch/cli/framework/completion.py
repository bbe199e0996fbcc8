"""Completion of command lines: the words that may stand where a shell's cursor is.

`anabranch completion` prints what tells a shell to ask `anabranch complete-words` for them. They
are read from the declarations, so that they are those of the installed version; addresses are asked
from the server. A word that ends with a slash continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.cli.client.completed_addresses import (
    OBJECT,
    REFERENCE,
    REPOSITORY,
    SCHEME,
    complete_address,
    complete_reference,
)
from anabranch.cli.framework import address, table_address
from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.help import CommandEntry

__all__ = ["HELP", "candidates"]

HELP = "help"

_DEPTHS: dict[Callable[[str], Any], int] = {
    address.repository_address: REPOSITORY,
    address.ref_address: REFERENCE,
    address.ref_or_name: REFERENCE,
    address.object_address: OBJECT,
    address.prefix_address: OBJECT,
    table_address.namespace_address: REFERENCE,
    table_address.table_address: REFERENCE,
    table_address.catalog_table_address: REFERENCE,
    table_address.table_or_ref: REFERENCE,
}
"""How much of an address an argument or option takes, by the function that parses it."""


def candidates(
    words: Sequence[str],
    entries: Iterable[CommandEntry],
    load: Callable[[CommandEntry], Command | Group],
    environment: Mapping[str, str],
) -> list[str]:
    """Returns the words that may replace the last of `words`, which is empty at a new word; none
    where files are expected.
    """
    *before, begun = words or [""]
    named = {entry.name: entry for entry in entries}
    given = [word for word in before if not word.startswith("-")]
    if given[:1] == [HELP]:
        given = given[1:]
    names: Iterable[str]
    if not given:
        names = [] if begun.startswith("-") else [*named, HELP]
    elif given[0] not in named:
        names = []
    else:
        names = _of_command(load(named[given[0]]), before, given[1:], begun, environment)
    return sorted({name for name in names if name.startswith(begun)})


def _of_command(
    declared: Command | Group,
    before: Sequence[str],
    given: Sequence[str],
    begun: str,
    environment: Mapping[str, str],
) -> Iterable[str]:
    command: Command | None = None
    words = 1
    if isinstance(declared, Command):
        command = declared
    else:
        for count in range(min(len(given), declared.most_words), 0, -1):
            if command is None and (command := declared.find(" ".join(given[:count]))) is not None:
                words += count
    if command is None and isinstance(declared, Group):
        if not begun.startswith("-") and SCHEME not in begun:
            return _next_words(declared, given)
        command = declared.find(declared.default) if declared.default else None
    if command is None:
        return ("--help",)
    return _of_values(command, _Line(command, before, words), begun, environment)


def _next_words(group: Group, given: Sequence[str]) -> Iterable[str]:
    """Returns the words by which the given ones continue to names of commands."""
    split = (command.name.split() for command in group.commands)
    count = len(given)
    return [words[count] for words in split if len(words) > count and words[:count] == [*given]]


class _Line:
    """The words of a command line before the cursor, by what they are: `values` are positional
    arguments, `option` the one whose value comes next. The first `skipped` words name the command.
    """

    def __init__(self, command: Command, before: Sequence[str], skipped: int) -> None:
        self.options: tuple[Option, ...] = (*command.options, *command.shared_options)
        self.values: list[str] = []
        self.option: Option | None = None
        self.given: dict[str, str] = {}
        takers = {flag: each for each in self.options if each.value for flag in each.flags}
        for word in before:
            if self.option is not None:
                self.given[self.option.flags[-1]] = word
                self.option = None
            elif word in takers:
                self.option = takers[word]
            elif not word.startswith("-"):
                self.values.append(word)
        self.values = self.values[skipped:]


def _of_values(
    command: Command, line: _Line, begun: str, environment: Mapping[str, str]
) -> Iterable[str]:
    if line.option is not None and line.option.choices:
        return line.option.choices
    if line.option is None and begun.startswith("-"):
        return [flag for option in line.options for flag in option.flags]
    parse = _parser(command, line)
    depth = _DEPTHS.get(parse, OBJECT if begun.startswith(SCHEME) else 0) if parse else 0
    if not depth:
        return ()
    server, config = line.given.get("--server"), line.given.get("--config")
    beside = next((each for each in line.values if each.startswith(SCHEME)), "")
    if parse is address.ref_or_name and beside and not begun.startswith(SCHEME):
        return complete_reference(begun, beside, environment, server=server, config=config)
    return complete_address(begun, depth, environment, server=server, config=config)


def _parser(command: Command, line: _Line) -> Callable[[str], Any] | None:
    """Returns what parses the word at the cursor, None if no value is expected there."""
    if line.option is not None:
        return line.option.parse
    if not command.arguments:
        return None
    position = min(len(line.values), len(command.arguments) - 1)
    argument = command.arguments[position]
    return argument.parse if len(line.values) == position or argument.repeat else None
