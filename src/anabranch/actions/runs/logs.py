"""Logs of runs in the block store, where lakeFS has them.

_lakefs/actions/log/RUN/run.manifest     the run and its hooks, as JSON
_lakefs/actions/log/RUN/HOOK_RUN.log     what a hook has written, and its error
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from anabranch.actions.runs.run import HookRun, Run
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError

__all__ = ["RunLogs"]

_log = logging.getLogger(__name__)

_FOLDER = "_lakefs/actions/log"
_NEVER = "0001-01-01T00:00:00Z"
"""Go's zero time, which lakeFS writes for a hook that was skipped."""


class RunLogs:
    """The logs of runs in all storage namespaces."""

    def __init__(self, blocks: BlockStore) -> None:
        self._blocks = blocks

    def write(
        self, namespace: str, run: Run, hooks: Sequence[HookRun], outputs: Mapping[str, str]
    ) -> None:
        """Writes the outputs of hooks, by the ids of their runs, and then the manifest. If the
        store fails, that is logged: the hooks have decided, and the records name them.
        """
        try:
            for hook_run_id, output in outputs.items():
                self._put(_address(namespace, run.id, f"{hook_run_id}.log"), output.encode())
            self.write_manifest(namespace, run, hooks)
        except AnabranchError as error:
            _log.warning("the logs of run %s were not stored: %s", run.id, error.message)

    def write_manifest(self, namespace: str, run: Run, hooks: Sequence[HookRun]) -> None:
        """Writes the manifest, in place of an earlier one."""
        manifest = {"run": _described_run(run), "hooks": [_described_hook(each) for each in hooks]}
        content = json.dumps(manifest, ensure_ascii=False).encode("utf-8", "replace")
        self._put(_address(namespace, run.id, "run.manifest"), content)

    def read(self, namespace: str, run_id: str, hook_run_id: str) -> bytes:
        """Returns the output of a hook. Raises Gone if it was not stored."""
        return self._blocks.read(_address(namespace, run_id, f"{hook_run_id}.log"))

    def _put(self, address: str, content: bytes) -> None:
        self._blocks.put(address, [content])


def _address(namespace: str, run_id: str, name: str) -> str:
    return f"{namespace.rstrip('/')}/{_FOLDER}/{run_id}/{name}"


def _described_run(run: Run) -> dict[str, Any]:
    commit = {"commit_id": run.commit_id} if run.commit_id else {}
    return {
        "run_id": run.id,
        "branch_id": run.branch,
        "source_ref": run.source_ref,
        "event_type": run.event,
        **commit,
        "start_time": _time(run.started),
        "end_time": _time(run.ended),
        "passed": run.passed,
    }


def _described_hook(hook: HookRun) -> dict[str, Any]:
    return {
        "run_id": hook.run_id,
        "hook_run_id": hook.hook_run_id,
        "hook_id": hook.hook_id,
        "action_name": hook.action,
        "start_time": _time(hook.started),
        "end_time": _time(hook.ended),
        "passed": hook.passed,
    }


def _time(seconds: float) -> str:
    if not seconds:
        return _NEVER
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
