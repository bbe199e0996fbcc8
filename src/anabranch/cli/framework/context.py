"""The context of one run of a command: arguments, output, settings and connection.

Settings are read, and the server is connected to, when a command first needs them.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.cli.client.settings import resolve
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.output.streams import Output

if TYPE_CHECKING:
    from anabranch.cli.client.connection import Connection
    from anabranch.client.settings import Settings

__all__ = ["CommandContext"]


class CommandContext:
    """The argument of a command's function. `arguments` has an attribute for each argument and
    option that is declared; `program` is the command as typed.
    """

    def __init__(
        self, program: str, arguments: Namespace, output: Output, environment: Mapping[str, str]
    ) -> None:
        self.program = program
        self.arguments = arguments
        self.output = output
        self.environment = environment

    @cached_property
    def settings(self) -> Settings:
        """Returns the settings of the connection; raises Usage if they are invalid."""
        return resolve(self.environment, server=self.arguments.server, config=self.arguments.config)

    @cached_property
    def connection(self) -> Connection:
        """Returns the connection to the server, which is created at the first use."""
        from anabranch.cli.client.connection import Connection  # noqa: PLC0415  the slow import

        return Connection(self.settings, self.environment)

    @property
    def connected(self) -> bool:
        """Whether a connection was created."""
        return "connection" in vars(self)

    def close(self) -> None:
        """Closes the connection, if there is one."""
        if self.connected:
            self.connection.close()

    def confirm(self, question: str) -> None:
        """Returns if the user confirms, by --yes or by answering; raises otherwise."""
        if self.arguments.yes:
            return
        if not sys.stdin.isatty():
            raise Usage(
                f"{question} Standard input is not a terminal.", hint="Add --yes to confirm."
            )
        self.output.err.write(f"{question} [y/N] ")
        self.output.err.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Failure("nothing was changed", kind="cancelled")
