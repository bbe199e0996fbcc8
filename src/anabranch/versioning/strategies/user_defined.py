"""Strategies of installed packages, which run in a process of their own.

A strategy that hangs is killed after its rule's option `timeout` (seconds, 60 by default), one that
crashes takes nothing with it. The answer of the process is the conflicts or an error.
`strategy_process` is the other side.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.child_process.child import Child, ChildEnded, ChildHangs
from anabranch.converter import Converter
from anabranch.errors import Conflict, Invalid
from anabranch.versioning.strategies.call_answers import answer_call
from anabranch.versioning.strategies.contract import (
    TIMED_OUT,
    ContentConflict,
    MergeOutput,
    PathConflict,
)

__all__ = ["MAX_TIMEOUT_SECONDS", "TIMEOUT_SECONDS", "UserDefinedStrategy"]

_TO_CONFLICTS = Converter(list[ContentConflict])

TIMEOUT_SECONDS = 60.0
MAX_TIMEOUT_SECONDS = 3600.0
_MODULE = "anabranch.versioning.strategies.strategy_process"


class UserDefinedStrategy:
    """The strategy that the entry point `name` makes from `options`."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self._options = dict(options)
        timeout = self._options.pop("timeout", TIMEOUT_SECONDS)
        is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
        if not is_number or not 0 < timeout <= MAX_TIMEOUT_SECONDS:
            raise Invalid(
                f"option timeout of the strategy {name}: must be a number of seconds above 0, at "
                f"most {MAX_TIMEOUT_SECONDS:g}, not {timeout!r}",
                kind="invalid_merge_options",
            )
        self._timeout = float(timeout)

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Runs the strategy. Raises Conflict if it fails, hangs or breaks the protocol."""
        folder = Path(conflict.work_folder)
        request = {
            "name": self._name,
            "options": self._options,
            "path": conflict.path,
            "repository": conflict.repository,
            "commits": dict(conflict.commits),
            "work_folder": str(folder),
        }
        try:
            with Child(_MODULE, time.monotonic() + self._timeout) as child:
                child.send(request)
                return self._answer_calls(child, conflict, output)
        except ChildHangs:
            reason = f"it did not finish within {self._timeout:g} s"
            raise self._failure(reason, TIMED_OUT) from None
        except (ChildEnded, ValueError, OSError) as error:
            raise self._failure(str(error)) from None

    def _answer_calls(
        self, child: Child, conflict: PathConflict, output: MergeOutput
    ) -> Sequence[ContentConflict]:
        while True:
            message, _ = child.receive()
            if "error" in message:
                raise self._failure(str(message["error"]))
            if "conflicts" in message:
                return _TO_CONFLICTS.convert(message["conflicts"])
            child.send({"result": answer_call(message, conflict, output)})

    def _failure(self, reason: str, kind: str = "merge_failed") -> Conflict:
        hint = "Correct the strategy, or choose another one for the path."
        return Conflict(f"the strategy {self._name} failed: {reason}", kind=kind, hint=hint)
