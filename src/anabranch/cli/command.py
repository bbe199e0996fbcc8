"""What a command is: its words, arguments, options and the function that does it, as data.

Each file of this room declares one `COMMAND`. Parsing (`parsing.py`), help (`help.py`) and the
reference in `docs/commands.md` (`reference.py`) are all made from that declaration, so that they
cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from anabranch.cli.call import Call

__all__ = [
    "CONNECTION_OPTIONS",
    "GENERAL_OPTIONS",
    "YES",
    "Argument",
    "Command",
    "Group",
    "Option",
    "listing_options",
    "positive",
]


class Argument(NamedTuple):
    """A word by its place: `name` is how the help writes it, in capitals."""

    name: str
    help: str
    optional: bool = False
    parse: Callable[[str], Any] = str

    @property
    def key(self) -> str:
        """Returns the attribute that holds the parsed value."""
        return self.name.lower().replace("-", "_")


class Option(NamedTuple):
    """An option: `names` as written in the help ("-m, --message"), a `value` to name what it
    takes, or none for a switch.
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
        """Returns the names apart."""
        return tuple(name.strip() for name in self.names.split(","))

    @property
    def key(self) -> str:
        """Returns the attribute that holds the parsed value."""
        return self.flags[-1].lstrip("-").replace("-", "_")

    @property
    def note(self) -> str:
        """Returns the help with all that is to be known of the value."""
        text = self.help
        if self.choices:
            text += f": {' or '.join(self.choices)}"
        if self.repeat:
            text += "; may be given several times"
        elif self.default not in (None, ""):
            text += f" [default: {self.default}]"
        return text


class Command(NamedTuple):
    """A word that does something. `examples` are command lines without the program's name;
    a command that `connects` to a server takes the options that say to which.
    """

    name: str
    summary: str
    run: Callable[[Call], int | None]
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    details: str = ""
    examples: tuple[str, ...] = ()
    connects: bool = True

    @property
    def shared_options(self) -> tuple[Option, ...]:
        """Returns the options it has because others have them."""
        return (*CONNECTION_OPTIONS, *GENERAL_OPTIONS) if self.connects else GENERAL_OPTIONS


class Group(NamedTuple):
    """A word that other words follow; `default` is taken where none of them does."""

    name: str
    summary: str
    commands: tuple[Command, ...]
    details: str = ""
    default: str = ""

    def find(self, name: str) -> Command | None:
        """Returns the command of that name, or None."""
        return next((command for command in self.commands if command.name == name), None)


YES = Option("-y, --yes", "Do not ask whether you are sure")

CONNECTION_OPTIONS = (
    Option("--server", "Talk to this server", "URL"),
    Option("-c, --config", "Read the connection's settings from this file", "FILE"),
)
GENERAL_OPTIONS = (
    Option("--json", "Print JSON, for programs"),
    Option("--no-color", "Print without colours"),
    Option("-h, --help", "Show this help"),
)


def listing_options(noun: str, *, amount: int | None = 100) -> tuple[Option, ...]:
    """Returns the options that every listing has; without an amount a listing is whole."""
    most = f"Show at most N {noun}" + ("" if amount else "; all of them by default")
    return (
        Option("--amount", most, "N", parse=positive, default=amount),
        Option("--after", f"Show only {noun} after this one, in order", "NAME", default=""),
        Option("--prefix", f"Show only {noun} whose names begin so", "PREFIX", default=""),
    )


def positive(text: str) -> int:
    """Returns a whole number above zero; raises ValueError for anything else."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
