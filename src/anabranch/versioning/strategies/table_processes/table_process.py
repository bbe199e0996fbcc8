"""The process of one merge or comparison: see `table_processes`. It limits itself before it reads
anything, and reads and writes no files but those that calls name, and those of its work folder.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from anabranch.child_process.forking import end_with, import_libraries
from anabranch.child_process.standard_streams import take_standard_streams
from anabranch.errors import AnabranchError, Busy, Conflict, NotSupported
from anabranch.errors.dependency_errors import reason_of
from anabranch.model.commits.row_difference import RowDifferencePage
from anabranch.versioning.strategies.called_conflict import CalledConflict, CalledOutput
from anabranch.versioning.strategies.contract import (
    OUT_OF_MEMORY,
    TOO_LARGE,
    ContentConflict,
    StrategyFactory,
)
from anabranch.versioning.strategies.delta.strategy import delta_strategy
from anabranch.versioning.strategies.iceberg.strategy import iceberg_strategy
from anabranch.versioning.strategies.json_document import json_strategy
from anabranch.versioning.strategies.rows.differences import MAX_PAGE_BYTES, row_differences
from anabranch.versioning.strategies.rows.strategy import rows_strategy
from anabranch.versioning.strategies.table_processes.compared_tables import compare_tables
from anabranch.versioning.strategies.table_processes.limits import split_hint
from anabranch.versioning.strategies.table_processes.messages import (
    Call,
    Compared,
    Failed,
    FileComparison,
    Listed,
    Merged,
    MergeTask,
    RowConflictListing,
    Task,
    failure,
    noun_of,
    receive_request,
    receive_result,
    send,
)
from anabranch.versioning.strategies.text import text_strategy

__all__ = ["main", "prepare"]

_STRATEGIES: dict[str, StrategyFactory] = {
    "rows": rows_strategy,
    "json": json_strategy,
    "text": text_strategy,
    "delta": delta_strategy,
    "iceberg": iceberg_strategy,
}
_MEMORY_ERROR = re.compile(r"MemoryError|bad_alloc|alloc of size")
_READERS = "anabranch.tables.readers"
_LIBRARIES = (
    "anabranch.tables.parquet.parquet_table",
    f"{_READERS}.arrow_table",
    f"{_READERS}.avro_table",
    f"{_READERS}.json_lines",
    f"{_READERS}.json_table",
    f"{_READERS}.orc_table",
    "anabranch.tables.text.text_table",
    "duckdb",
    "encodings.utf_8_sig",
    "fastavro",
    "numpy.ma",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.orc",
    "pyarrow.parquet",
)


class _Server:
    """The process that has started this one. What libraries print goes to standard error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._input, self._output = take_standard_streams()
        self.request = receive_request(self._input)

    def call(self, name: str, **parameters: object) -> Any:
        """Returns the result of a call. If it fails, this process is killed."""
        with self._lock:
            send(self._output, Call(name, parameters))
            try:
                return receive_result(self._input).value
            except EOFError:
                os._exit(1)  # nothing waits for the result

    def finish(self, message: Merged | Compared | Listed | Failed) -> None:
        """Sends the result of the task."""
        send(self._output, message)


def _perform(task: Task, server: _Server) -> Merged | Compared | Listed:
    if isinstance(task, MergeTask | RowConflictListing):
        conflict = CalledConflict(
            server,
            path=task.path,
            repository=task.repository,
            commits=task.commits,
            work_folder=task.work_folder,
        )
        if isinstance(task, RowConflictListing):
            rows = rows_strategy(task.options)
            return Listed(rows.list_conflicts(conflict, task.start, task.amount))
        output = CalledOutput(server, task.work_folder)
        strategy = _STRATEGIES[task.strategy](task.options)
        return Merged(list(_show(strategy.merge(conflict, output))))
    if isinstance(task, FileComparison):
        return Compared(_compare_files(task))
    return Compared(compare_tables(server, task))


def _show(conflicts: Sequence[ContentConflict]) -> Iterator[ContentConflict]:
    """Yields the first conflicts, as many as a message should have."""
    size = 0
    for conflict in conflicts:
        yield conflict
        size += len(json.dumps(msgspec.to_builtins(conflict)))
        if size > MAX_PAGE_BYTES:
            return


def _compare_files(task: FileComparison) -> RowDifferencePage:
    matching = task.matching
    return row_differences(
        task.path,
        task.left,
        task.right,
        key=matching.key,
        whole_rows=matching.whole_rows,
        file_format=task.file_format,
        after=matching.after,
        amount=matching.amount,
        folder=task.work_folder,
    )


def _failure(error: Exception, noun: str) -> Failed:
    """Returns the message for what a task about a table, document or text has raised."""
    if _is_out_of_memory(error):
        return failure(
            Conflict(
                f"the {noun} needs more memory than its merge or comparison may use",
                kind=OUT_OF_MEMORY,
                hint=f"{split_hint(noun)} merges.memory_bytes is the limit.",
            )
        )
    if isinstance(error, AnabranchError):
        return failure(error)
    reason = reason_of(error).splitlines()[0]
    if isinstance(error, ImportError):
        return failure(NotSupported(reason, kind="library_missing"))
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return failure(Busy(f"there is no space for the temporary files of a {noun}"))
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        return failure(
            Conflict(
                f"the {noun} needs a temporary file of more than {limit >> 20} MiB, such as the "
                "content of a compressed one",
                kind=TOO_LARGE,
                hint=split_hint(noun),
            )
        )
    failed = failure(Conflict(f"{type(error).__name__}: {reason}", kind="merge_failed"))
    return msgspec.structs.replace(failed, trace="".join(traceback.format_exception(error)))


def _is_out_of_memory(error: BaseException) -> bool:
    """Returns whether an error, or one that has caused it, is a lack of memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or type(cause).__name__ == "OutOfMemoryException":
            return True
        # DuckDB has only the text of an error of Python
        if type(cause).__module__ == "_duckdb" and _MEMORY_ERROR.search(str(cause)):
            return True
        cause = cause.__cause__
    return False


def prepare() -> None:
    """Imports the libraries that are installed, for `main` in processes that are forked."""
    import_libraries(*_LIBRARIES)


def main(lifeline: int) -> None:
    """Performs one task, and ends."""
    end_with(lifeline)
    server = _Server()
    server.request.limits.apply()
    try:
        server.finish(_perform(server.request.task, server))
    except Exception as error:  # noqa: BLE001  whatever it is, it is the reason
        server.finish(_failure(error, noun_of(server.request.task)))
