"""One run of a command: what it was asked, where it prints, whom it talks to.

Settings are read and the server is connected to only when a command first asks for it.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.cli.failure import Failure, Usage
from anabranch.cli.output import Output
from anabranch.cli.settings import Settings, resolve

if TYPE_CHECKING:
    from anabranch.cli.connection import Connection

__all__ = ["Call"]


class Call:
    """What a command's function is given. `arguments` has an attribute for each argument and
    option declared, `program` is the command as typed.
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
        """Returns the settings of the connection; raises Usage where they are wrong."""
        return resolve(self.environment, server=self.arguments.server, config=self.arguments.config)

    @cached_property
    def connection(self) -> Connection:
        """Returns the connection to the server, made when first asked for."""
        from anabranch.cli.connection import Connection  # noqa: PLC0415  the slow import

        return Connection(self.settings, self.environment)

    @property
    def connected(self) -> bool:
        """Whether a connection was asked for."""
        return "connection" in vars(self)

    def close(self) -> None:
        """Closes the connection, if there is one."""
        if self.connected:
            self.connection.close()

    def confirm(self, question: str) -> None:
        """Returns if the user agrees, by --yes or by answering; raises otherwise."""
        if self.arguments.yes:
            return
        if not sys.stdin.isatty():
            raise Usage(f"{question} Nobody is here to answer.", hint="Add --yes to agree.")
        self.output.err.write(f"{question} [y/N] ")
        self.output.err.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Failure("nothing was changed", kind="cancelled")
