"""Completion of command lines: the words that may stand where a shell's cursor is.

`anabranch completion` prints what tells a shell to ask `anabranch complete-words` for them. They
are read from the declarations, so that they are those of the installed version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.help import CommandEntry

__all__ = ["HELP", "candidates"]

HELP = "help"


def candidates(
    words: Sequence[str],
    entries: Iterable[CommandEntry],
    load: Callable[[CommandEntry], Command | Group],
) -> list[str]:
    """Returns the words that may replace the last of `words`, which is empty at a new word; none
    where files or addresses are expected.
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
        names = _of_command(load(named[given[0]]), before, given[1:], begun)
    return sorted({name for name in names if name.startswith(begun)})


def _of_command(
    declared: Command | Group, before: Sequence[str], given: Sequence[str], begun: str
) -> Iterable[str]:
    command: Command | None = None
    if isinstance(declared, Command):
        command = declared
    else:
        for count in range(min(len(given), declared.most_words), 0, -1):
            command = command or declared.find(" ".join(given[:count]))
    if command is None and isinstance(declared, Group):
        if not begun.startswith("-"):
            return _next_words(declared, given)
        command = declared.find(declared.default) if declared.default else None
    return _of_options(command, before, begun) if command is not None else ("--help",)


def _next_words(group: Group, given: Sequence[str]) -> Iterable[str]:
    """Returns the words by which the given ones continue to names of commands."""
    split = (command.name.split() for command in group.commands)
    count = len(given)
    return [words[count] for words in split if len(words) > count and words[:count] == [*given]]


def _of_options(command: Command, before: Sequence[str], begun: str) -> Iterable[str]:
    options: tuple[Option, ...] = (*command.options, *command.shared_options)
    for option in options:
        if option.value and before and before[-1] in option.flags:
            return option.choices
    return [flag for option in options for flag in option.flags] if begun.startswith("-") else ()
