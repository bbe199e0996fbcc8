"""The file that holds a search between two commands, next to the file of the client's settings."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from anabranch.cli.commands.bisect.bisection import Bisection
from anabranch.cli.errors import Failure, file_failure
from anabranch.cli.framework.context import CommandContext
from anabranch.client.settings import client_file

__all__ = ["read", "remove", "write"]

_DECODER = msgspec.json.Decoder(Bisection)


def read(context: CommandContext) -> Bisection:
    """Returns the search under way. Raises Failure if there is none or its file is damaged."""
    path = _path(context)
    try:
        return _DECODER.decode(path.read_bytes())
    except FileNotFoundError:
        raise Failure(
            "no search for a bad commit was started",
            kind="no_bisection",
            hint="Start one with `anabranch bisect start BAD GOOD`.",
        ) from None
    except OSError as error:
        raise file_failure(error) from error
    except msgspec.DecodeError as error:
        raise Failure(
            f"{path} cannot be read: {error}",
            kind="damaged_bisection",
            hint="Remove it with `anabranch bisect reset`.",
        ) from error


def write(context: CommandContext, bisection: Bisection) -> None:
    """Replaces the search under way."""
    path = _path(context)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(msgspec.json.encode(bisection))
        partial.replace(path)
    except OSError as error:
        raise file_failure(error) from error


def remove(context: CommandContext) -> bool:
    """Ends the search under way; returns whether there was one."""
    try:
        _path(context).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise file_failure(error) from error
    return True


def _path(context: CommandContext) -> Path:
    return client_file(context.environment, context.arguments.config).with_name("bisect.json")
