"""Parses command lines to a command and its values.

It uses the standard library's parser and builds only the parser of the requested command, which
keeps the start quick. Errors of that parser become `Usage` errors, with the most similar option or
value as a hint.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import CONNECTION_OPTIONS, Argument, Command, Group, Option
from anabranch.errors.did_you_mean import closest

__all__ = ["choose", "commands_below", "parse", "split_globals"]

_HELP = frozenset({"-h", "--help"})


def split_globals(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the global options before the first other argument, and the rest: `--json repo list`
    means `repo list --json`.
    """
    takes_value = {flag for option in CONNECTION_OPTIONS for flag in option.flags}
    position = 0
    while position < len(words) and words[position].startswith("-"):
        position += 2 if words[position] in takes_value else 1
    return list(words[:position]), list(words[position:])


def choose(group: Group, words: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Returns the group's command that `words` select, and the remaining arguments. None means the
    help of the group. Raises Usage for an unknown command.
    """
    leading, rest = split_globals(words)
    for count in range(min(group.most_words, len(rest)), 0, -1):
        command = group.find(" ".join(rest[:count]))
        if command is not None:
            return command, leading + rest[count:]
    if rest and group.default:
        return group.find(group.default), list(words)
    if not rest:
        alone = group.runs_alone and _HELP.isdisjoint(leading)
        return (group.find(group.default) if alone else None), leading
    raise _unknown(group, rest)


def commands_below(group: Group, words: Sequence[str]) -> Group | None:
    """Returns the commands of a group whose names begin with the words, as a group, if the words
    name none of them and ask for help: `auth users --help`. None otherwise.
    """
    if _HELP.isdisjoint(_before_dashes(words)):
        return None
    given = [word for word in words if not word.startswith("-")]
    begun = " ".join(given)
    below = [command for command in group.commands if command.name.startswith(f"{begun} ")]
    if not begun or not below or group.find(begun) is not None:
        return None
    shortened = (each._replace(name=each.name.removeprefix(f"{begun} ")) for each in below)
    name = f"{group.name} {begun}"
    return Group(name, f"The commands of `{name}`", tuple(shortened))


def _unknown(group: Group, words: list[str]) -> Usage:
    """Returns the error of words that begin no command of a group, or only its first words."""
    begun, names = group.name, [command.name for command in group.commands]
    while words:
        longer = [name[len(words[0]) + 1 :] for name in names if name.startswith(f"{words[0]} ")]
        if not longer:
            break
        begun, names, words = f"{begun} {words[0]}", longer, words[1:]
    names = list(dict.fromkeys(name.split()[0] for name in names))
    hint = f"It has {', '.join(names)}."
    if not words or words[0].startswith("-"):
        return Usage(f"{begun} needs a command", hint=hint)
    return Usage(f"{begun} has no command {words[0]!r}", hint=closest(words[0], names) or hint)


def parse(program: str, command: Command, words: Sequence[str]) -> argparse.Namespace:
    """Returns the values of a command's arguments and options, by key; raises Usage. `program` is
    the command as typed, for messages.
    """
    options = (*command.options, *command.shared_options)
    if not _HELP.isdisjoint(_before_dashes(words)):
        return argparse.Namespace(help=True)
    parser = _Parser(program, options)
    for option in options:
        _add_option(parser, option)
    for argument in command.arguments:
        _add_argument(parser, argument)
    return parser.parse_args(list(words))


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: list(words).index("--")] if "--" in words else words


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    if not option.value:
        parser.add_argument(*option.flags, dest=option.key, action="store_true")
        return
    parser.add_argument(
        *option.flags,
        dest=option.key,
        metavar=option.value,
        type=_checking_parser(option.parse),
        action="append" if option.repeat else "store",
        choices=option.choices or None,
        default=[] if option.repeat else option.default,
        required=option.required,
    )


def _add_argument(parser: argparse.ArgumentParser, argument: Argument) -> None:
    parser.add_argument(
        argument.key,
        metavar=argument.name,
        type=_checking_parser(argument.parse),
        nargs="+" if argument.repeat else "?" if argument.optional else None,
    )


def _checking_parser(parse: Any) -> Any:
    """Keeps an AnabranchError of a value's parser: argparse would drop its hint."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an accepted value") from None

    return convert


class _Parser(argparse.ArgumentParser):
    """argparse without its own help and its exits."""

    def __init__(self, program: str, options: Sequence[Option]) -> None:
        super().__init__(prog=program, add_help=False, allow_abbrev=False)
        self._known = [flag for option in options for flag in option.flags]

    def error(self, message: str) -> NoReturn:
        unknown = re.match(r"unrecognized arguments: (\S+)", message)
        hint = ""
        if unknown:
            word = unknown[1].partition("=")[0]
            message = (
                f"{'unknown option:' if word.startswith('-') else 'unexpected argument:'} {word}"
            )
            hint = closest(word, self._known) if word.startswith("-") else ""
        raise Usage(f"{self.prog}: {message}", hint=hint or f"See `{self.prog} --help`.")
