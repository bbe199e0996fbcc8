"""Comparisons of tables, each of which is a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from anabranch.errors import Conflict, Invalid
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.versioning.strategies.contract import (
    OUT_OF_MEMORY,
    PROCESS_ENDED,
    TIMED_OUT,
    TOO_LARGE,
    ObjectVersion,
)
from anabranch.versioning.strategies.rows.database import require_libraries
from anabranch.versioning.strategies.table_processes.messages import (
    Call,
    Compared,
    FileComparison,
    FileVersion,
    FolderComparison,
    RowMatching,
)
from anabranch.versioning.strategies.table_processes.table_processes import (
    AnswerCall,
    TableProcesses,
)

__all__ = ["ComparedObjects", "compare_files", "compare_folders", "comparison_errors"]

_KINDS = {
    TIMED_OUT: "comparison_timed_out",
    TOO_LARGE: "comparison_too_large",
    OUT_OF_MEMORY: "comparison_out_of_memory",
    PROCESS_ENDED: "comparison_process_ended",
}


class ComparedObjects(Protocol):
    """The objects of one version of a table of many files, by their paths."""

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""

    def file(self, path: str) -> str:
        """Returns the path of a file of this machine with an object's bytes. Raises
        FileNotFoundError without one.
        """

    def identity(self, path: str) -> tuple[str, ...]:
        """Returns what is the same for objects with the same bytes and path."""


def compare_files(
    processes: TableProcesses,
    path: str,
    left: ObjectVersion | None,
    right: ObjectVersion | None,
    *,
    file_format: str,
    matching: RowMatching,
    folder: str,
) -> RowDifferencePage:
    """Returns a page of the rows that differ between two versions of an object: see
    `row_differences`. Raises as that does, but Invalid in place of Conflict, with the kinds
    not_comparable, comparison_timed_out, comparison_out_of_memory, comparison_too_large and
    comparison_process_ended.
    """
    require_libraries("a comparison of rows")
    task = FileComparison(
        path, _file_version(left), _file_version(right), file_format, matching, folder
    )
    page = _compare(
        processes,
        task,
        _refuse_call,
        "Give the columns that identify a row as `key`, and the `format` of the file if its "
        "extension does not tell.",
    )
    assert page is not None  # noqa: S101  only a folder may hold no table
    return page


def compare_folders(
    processes: TableProcesses,
    repository: str,
    table: str,
    sides: dict[str, ComparedObjects],
    *,
    matching: RowMatching,
    folder: str,
) -> RowDifferencePage | None:
    """Returns a page of the rows that differ between two versions of a table of many files, whose
    objects are `sides`, `left` and `right`; None if it is a table in neither. Raises as
    `compare_files`, Invalid (kind unreadable_table), and what reading the objects raises.
    """
    require_libraries("a comparison of rows")
    task = FolderComparison(repository, table, matching, folder)

    def answer(call: Call) -> Any:
        objects = sides[call.parameters["side"]]
        if call.name == "list":
            return list(objects.list(call.parameters["prefix"]))
        path = call.parameters["path"]
        if call.name == "identity":
            return objects.identity(path)
        try:
            return objects.file(path)
        except FileNotFoundError:
            return None

    return _compare(processes, task, answer, "Give the columns that identify a row as `key`.")


def _file_version(version: ObjectVersion | None) -> FileVersion | None:
    if version is None:
        return None
    return FileVersion(version.path(), version.size, version.content_type, dict(version.metadata))


def _compare(
    processes: TableProcesses,
    task: FileComparison | FolderComparison,
    answer: AnswerCall,
    hint: str,
) -> RowDifferencePage | None:
    with comparison_errors(hint):
        result = processes.perform(task, answer)
    assert isinstance(result, Compared)  # noqa: S101  the result of these tasks
    return result.page


@contextmanager
def comparison_errors(hint: str = "") -> Iterator[None]:
    """Raises Invalid in place of Conflict, with the kinds of `compare_files`. `hint` is that of
    what cannot be compared, by default the error's own.
    """
    try:
        yield
    except Conflict as error:
        kind = _KINDS.get(error.kind, "not_comparable")
        own = error.hint if error.kind in _KINDS else hint or error.hint
        raise Invalid(error.message, kind=kind, hint=own) from error


def _refuse_call(call: Call) -> Any:
    raise Conflict(f"the process calls {call.name}, which it may not", kind="merge_failed")
