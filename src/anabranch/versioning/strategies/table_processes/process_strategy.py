"""The strategies for tables, each merge of which is a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Conflict
from anabranch.versioning.strategies.call_answers import answer_call
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    PathConflict,
)
from anabranch.versioning.strategies.table_processes.messages import Call, Merged, MergeTask
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

__all__ = ["ProcessStrategy"]


class ProcessStrategy:
    """A strategy of Anabranch, by its name. Its options have been checked."""

    def __init__(self, name: str, options: Mapping[str, Any], processes: TableProcesses) -> None:
        self._name = name
        self._options = dict(options)
        self._processes = processes

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Returns the conflicts of the strategy. Raises what it raises, and Conflict if it takes
        too much time or memory.
        """

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
