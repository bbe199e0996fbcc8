"""Errors of commands: errors of the library's tree with a location.

Every error of a command becomes one of two classes, which decide the exit code: `Failure` (1, the
work could not be done) and `Usage` (2, the command line is invalid).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.errors import AnabranchError

__all__ = ["Failure", "Usage", "file_failure"]


class Failure(AnabranchError):
    """An error (`message`), its location (`where`), and what to do (`hint`).

    `status` is the HTTP status, 0 without one; `answer` is the JSON of the response, if any;
    `paths` are the objects concerned, when there may be many; `has_more_paths` if these are only
    the first. `asked` has the segments of the request's path and `keys` the names in its body or
    query, from which a better hint can be derived.
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
        has_more_paths: bool = False,
        asked: Sequence[str] = (),
        keys: Sequence[str] = (),
    ) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.where = where
        self.status = status
        self.answer = answer
        self.paths = tuple(paths)
        self.has_more_paths = has_more_paths
        self.asked = tuple(asked)
        self.keys = tuple(keys)


class Usage(Failure):
    """The command line is invalid; no request was sent."""

    kind = "usage"
    exit_code = 2


def file_failure(error: OSError) -> Failure:
    """Returns the failure for an error of the local file system."""
    return Failure(
        error.strerror or str(error),
        kind="file_error",
        where=str(error.filename or ""),
        hint="Does the file exist, and may you read or write it?",
    )
