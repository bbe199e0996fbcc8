"""What a process and the one that has started it send each other: a JSON value in each line.

First comes a `Request`; then the process sends a `Call`, which is answered by a `Result`, any
number of times, and at last a `Merged`, `Compared`, `Listed` or `Failed`. Contents of objects are
files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import msgspec

from anabranch import errors
from anabranch.converter import Converter
from anabranch.errors import AnabranchError
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.versioning.strategies.contract import ContentConflict, Side
from anabranch.versioning.strategies.table_processes.limits import TABLE, TableLimits

__all__ = [
    "Call",
    "Compared",
    "FileComparison",
    "FileVersion",
    "FolderComparison",
    "Listed",
    "MergeTask",
    "Merged",
    "Message",
    "MessageTooLarge",
    "Request",
    "Result",
    "RowConflictListing",
    "RowMatching",
    "Task",
    "failure",
    "noun_of",
    "receive_message",
    "receive_request",
    "receive_result",
    "send",
]


MAX_MESSAGE_BYTES = 64 << 20


class MergeTask(msgspec.Struct, frozen=True, tag="merge"):
    """A conflict that a strategy of Anabranch is to merge."""

    strategy: str
    options: dict[str, Any]
    path: str
    repository: str
    commits: dict[Side, str]
    work_folder: str


class RowConflictListing(msgspec.Struct, frozen=True, tag="row_conflicts"):
    """A conflict of tables whose rows in conflict are listed: at most `amount`, without the first
    `start`. `options` are those of the strategy `rows`.
    """

    options: dict[str, Any]
    path: str
    repository: str
    commits: dict[Side, str]
    work_folder: str
    start: int
    amount: int


class FileVersion(msgspec.Struct, frozen=True):
    """A version of an object, whose bytes are a file of this machine."""

    file: str
    size: int
    content_type: str
    metadata: Mapping[str, str]

    def open(self) -> BinaryIO:
        """Returns a stream of the bytes."""
        return Path(self.file).open("rb")

    def path(self) -> str:
        """Returns the path of the file."""
        return self.file


class RowMatching(msgspec.Struct, frozen=True, kw_only=True):
    """How rows are matched, and which page of the differences is wanted: see `row_differences`."""

    key: tuple[str, ...] = ()
    whole_rows: bool = False
    after: str = ""
    amount: int


class FileComparison(msgspec.Struct, frozen=True, tag="files"):
    """Two versions of an object that are to be compared."""

    path: str
    left: FileVersion | None
    right: FileVersion | None
    file_format: str
    matching: RowMatching
    work_folder: str


class FolderComparison(msgspec.Struct, frozen=True, tag="folders"):
    """A table of many files, of which two versions are to be compared. `folder` has no slash at its
    end.
    """

    repository: str
    folder: str
    matching: RowMatching
    work_folder: str


Task = MergeTask | RowConflictListing | FileComparison | FolderComparison

_NOUNS = {"json": "document", "text": "text"}


def noun_of(task: Task) -> str:
    """Returns what a task is about: a table, document or text."""
    return _NOUNS.get(task.strategy, TABLE) if isinstance(task, MergeTask) else TABLE


class Request(msgspec.Struct, frozen=True):
    """What a process is to do, within its limits."""

    task: Task
    limits: TableLimits


class Call(msgspec.Struct, frozen=True, tag="call"):
    """A call of the process, which needs objects."""

    name: str
    parameters: dict[str, Any]


class Result(msgspec.Struct, frozen=True):
    """The result of a call."""

    value: Any


class Merged(msgspec.Struct, frozen=True, tag="merged"):
    """The conflicts of a merge."""

    conflicts: list[ContentConflict]


class Compared(msgspec.Struct, frozen=True, tag="compared"):
    """A page of row differences; None if there is no table."""

    page: RowDifferencePage | None


class Listed(msgspec.Struct, frozen=True, tag="listed"):
    """A page of rows in conflict."""

    page: RowConflictPage


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """An error; `error` is the name of its class. `trace` is the traceback of one that no code
    expects.
    """

    error: str
    message: str
    kind: str
    hint: str
    trace: str = ""

    def exception(self) -> AnabranchError:
        """Returns the error as it was raised in the process."""
        try:
            error: AnabranchError = getattr(errors, self.error)(self.message)
        except (AttributeError, TypeError):  # it has more parameters
            error = AnabranchError(self.message)
        error.kind, error.hint = self.kind, self.hint
        return error


class MessageTooLarge(Exception):
    """A message has more than MAX_MESSAGE_BYTES."""


Message = Call | Merged | Compared | Listed | Failed
"""What a process sends."""

_TO_REQUEST: Converter[Request] = Converter(Request)
_TO_RESULT: Converter[Result] = Converter(Result)
_TO_MESSAGE: Converter[Any] = Converter(cast(Any, Message))


def failure(error: AnabranchError) -> Failed:
    """Returns the message that has an error."""
    return Failed(type(error).__name__, error.message, error.kind, error.hint)


def send(stream: IO[bytes], message: msgspec.Struct) -> None:
    """Writes a message. Raises OSError if the other side has ended."""
    # not msgspec's own encoder: a path may have characters that UTF-8 has not
    stream.write(json.dumps(msgspec.to_builtins(message)).encode() + b"\n")
    stream.flush()


def receive_request(stream: IO[bytes]) -> Request:
    """Returns the request of the process that has started this one. Raises EOFError if it ended."""
    return _TO_REQUEST.convert(_receive(stream))


def receive_result(stream: IO[bytes]) -> Result:
    """Returns the result of a call. Raises EOFError if the other side has ended."""
    return _TO_RESULT.convert(_receive(stream))


def receive_message(stream: IO[bytes]) -> Message:
    """Returns the next message of a process. Raises EOFError if it has ended, MessageTooLarge, and
    ValueError for what is no message.
    """
    message: Message = _TO_MESSAGE.convert(_receive(stream))
    return message


def _receive(stream: IO[bytes]) -> Any:
    line = stream.readline(MAX_MESSAGE_BYTES)
    if not line.endswith(b"\n"):
        raise MessageTooLarge if len(line) == MAX_MESSAGE_BYTES else EOFError
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("a value is nested too deep") from error
