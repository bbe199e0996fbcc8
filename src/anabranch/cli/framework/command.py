"""Declarations of commands: names, arguments, options and the function that runs.

Each module of `commands` declares one `COMMAND`. Parsing (`parsing.py`), help (`help.py`) and the
reference in `docs/commands.md` (`reference.py`) use that declaration, so they always agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from anabranch.cli.framework.context import CommandContext

__all__ = [
    "ALIASES",
    "CONNECTION_OPTIONS",
    "GENERAL_OPTIONS",
    "NO_PROGRESS",
    "YES",
    "Argument",
    "Command",
    "Group",
    "Option",
    "at_least_zero",
    "listing_options",
    "positive",
    "positive_number",
]


class Argument(NamedTuple):
    """A positional argument; `name` is its name in the help, in capitals. One that may `repeat` has
    a list of one or more values.
    """

    name: str
    help: str
    optional: bool = False
    parse: Callable[[str], Any] = str
    repeat: bool = False

    @property
    def key(self) -> str:
        """Returns the attribute that holds the parsed value."""
        return self.name.lower().replace("-", "_")


class Option(NamedTuple):
    """An option: `names` as written in the help ("-m, --message"), and the name of its `value`,
    empty for a switch.
    """

    names: str
    help: str
    value: str = ""
    parse: Callable[[str], Any] = str
    default: Any = None
    repeat: bool = False
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """Returns the names as a list."""
        return tuple(name.strip() for name in self.names.split(","))

    @property
    def key(self) -> str:
        """Returns the attribute that holds the parsed value."""
        return self.flags[-1].lstrip("-").replace("-", "_")

    @property
    def note(self) -> str:
        """Returns the help, with choices, repetition and default."""
        text = self.help
        if self.choices:
            text += f": {' or '.join(self.choices)}"
        if self.repeat:
            text += "; may be given several times"
        elif self.default not in (None, ""):
            text += f" [default: {self.default}]"
        return text


class Command(NamedTuple):
    """A command that does something. `examples` are command lines without the program's name. A
    command that `connects` to a server has the options that select the server.
    """

    name: str
    summary: str
    run: Callable[[CommandContext], int | None]
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    details: str = ""
    examples: tuple[str, ...] = ()
    connects: bool = True

    @property
    def shared_options(self) -> tuple[Option, ...]:
        """Returns the options that it shares with other commands."""
        return (*CONNECTION_OPTIONS, *GENERAL_OPTIONS) if self.connects else GENERAL_OPTIONS


class Group(NamedTuple):
    """A group of commands, whose names may have several words: "members add". `default` runs if
    arguments name none of them, and if there are no arguments but options, if it is also
    `runs_alone`.
    """

    name: str
    summary: str
    commands: tuple[Command, ...]
    details: str = ""
    default: str = ""
    runs_alone: bool = False

    def find(self, name: str) -> Command | None:
        """Returns the command of that name, or of a name whose last word stands for it (`ALIASES`);
        None if there is none.
        """
        first, space, last = name.rpartition(" ")
        names = (name, *(f"{first}{space}{other}" for other in ALIASES.get(last, ())))
        commands = {command.name: command for command in self.commands}
        return next((commands[each] for each in names if each in commands), None)

    @property
    def most_words(self) -> int:
        """The number of words of the longest name of a command."""
        return max(len(command.name.split()) for command in self.commands)


ALIASES = {
    "ls": ("list",),
    "list": ("ls",),
    "rm": ("delete",),
    "delete": ("rm",),
    "remove": ("delete", "rm"),
}
"""Names that people type, and the commands that they stand for in groups without that name."""

YES = Option("-y, --yes", "Do not ask for confirmation")
NO_PROGRESS = Option("--no-progress", "Do not show the progress")

CONNECTION_OPTIONS = (
    Option("--server", "The address of the server", "URL"),
    Option("-c, --config", "Read the connection's settings from this file", "FILE"),
)
GENERAL_OPTIONS = (
    Option("--json", "Print JSON, for programs"),
    Option("--no-color", "Print without colours"),
    Option("-h, --help", "Show this help"),
)


def listing_options(noun: str, *, amount: int | None = 100) -> tuple[Option, ...]:
    """Returns the options of every listing. Without an amount, a listing is complete."""
    most = f"Show at most N {noun}" + ("" if amount else "; all of them by default")
    return (
        Option("--amount", most, "N", parse=positive, default=amount),
        Option("--after", f"Show only {noun} after this one, in order", "NAME", default=""),
        Option("--prefix", f"Show only {noun} with this prefix", "PREFIX", default=""),
    )


def at_least_zero(text: str) -> int:
    """Returns zero or a positive integer; raises ValueError for anything else."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def positive(text: str) -> int:
    """Returns a positive integer; raises ValueError for anything else."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def positive_number(text: str) -> float:
    """Returns a positive, finite number; raises ValueError for anything else."""
    number = float(text)
    if not 0 < number < math.inf:
        raise ValueError(text)
    return number
