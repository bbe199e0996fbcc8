"""The strategies for tables, documents and texts, each merge of which is a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.versioning.strategies.call_answers import answer_call
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    MergeStrategy,
    PathConflict,
)
from anabranch.versioning.strategies.table_processes.messages import (
    Call,
    Listed,
    Merged,
    MergeTask,
    RowConflictListing,
)
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

__all__ = ["ProcessStrategy", "list_row_conflicts"]


_MAX_SMALL_BYTES = 16 << 10
"""The size of the versions of a document or text, in all, that are merged in this process, since a
process takes longer. They expand to at most 40 MB: a merged document has 5,000 members at most,
each behind 200 levels of indentation, of 64 characters at most.
"""


class ProcessStrategy:
    """A strategy of Anabranch, by its name. Its options have been checked. `small` is the strategy
    for documents and texts that are so small that they need no process; None for tables, which
    libraries read that may crash.
    """

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any],
        processes: TableProcesses,
        small: MergeStrategy | None = None,
    ) -> None:
        self._name = name
        self._options = dict(options)
        self._processes = processes
        self._small = small

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Returns the conflicts of the strategy. Raises what it raises, and Conflict if it takes
        too much time or memory.
        """
        if self._small is not None and _size(conflict) <= _MAX_SMALL_BYTES:
            return self._small.merge(conflict, output)

        def answer(call: Call) -> Any:
            return answer_call({"call": call.name, **call.parameters}, conflict, output)

        task = MergeTask(
            self._name,
            self._options,
            conflict.path,
            conflict.repository,
            dict(conflict.commits),
            conflict.work_folder,
        )
        result = self._processes.perform(task, answer)
        if not isinstance(result, Merged):
            raise Conflict("the process has another result", kind="merge_failed")
        return result.conflicts


def list_row_conflicts(
    processes: TableProcesses,
    conflict: PathConflict,
    options: Mapping[str, Any],
    *,
    start: int,
    amount: int,
) -> RowConflictPage:
    """Returns a page of the rows of a table that are in conflict, without the first `start`; its
    `next_offset` is the start of the next page. `options` are those of the strategy `rows`. Raises
    Conflict for tables that cannot be merged, or take too much time or memory.
    """

    def answer(call: Call) -> Any:
        return answer_call({"call": call.name, **call.parameters}, conflict, None)

    task = RowConflictListing(
        dict(options),
        conflict.path,
        conflict.repository,
        dict(conflict.commits),
        conflict.work_folder,
        start,
        amount,
    )
    result = processes.perform(task, answer)
    if not isinstance(result, Listed):
        raise Conflict("the process has another result", kind="merge_failed")
    return result.page


def _size(conflict: PathConflict) -> int:
    versions = (conflict.base, conflict.source, conflict.destination)
    return sum(version.size for version in versions if version is not None)
