"""How a command fails: an error of the one tree, with the place it happened at.

Everything a command can stumble over ends as one of two classes, which decide the exit code:
`Failure` (1, the work could not be done) and `Usage` (2, the command was not understood).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.errors import AnabranchError

__all__ = ["Failure", "Usage", "file_failure"]


class Failure(AnabranchError):
    """What went wrong (`message`), where (`where`), what to do (`hint`).

    `status` is the HTTP status it came with, 0 without one; `answer` is the server's JSON, if
    any; `paths` are the objects concerned when there may be many. `asked` is the request's path
    in pieces and `keys` the names in its body or query, from which a better hint can be found.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        hint: str | None = None,
        where: str = "",
        status: int = 0,
        answer: Any = None,
        paths: Sequence[str] = (),
        asked: Sequence[str] = (),
        keys: Sequence[str] = (),
    ) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.where = where
        self.status = status
        self.answer = answer
        self.paths = tuple(paths)
        self.asked = tuple(asked)
        self.keys = tuple(keys)


class Usage(Failure):
    """The command line itself is wrong; nothing was asked of any server."""

    kind = "usage"
    exit_code = 2


def file_failure(error: OSError) -> Failure:
    """Returns what an error of the local file system means."""
    return Failure(
        error.strerror or str(error),
        kind="file_error",
        where=str(error.filename or ""),
        hint="Is the file there, and may you read or write it?",
    )
