"""The runner: runs the hooks of one event.

Actions run in parallel, the hooks of an action one after another. After one has failed, the others
of its action run only if their condition says so. A hook that does not end in time is left behind
in its thread, and has failed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from anabranch.actions.files.action import Action, HookSpec
from anabranch.actions.files.conditions import FIELDS, Situation
from anabranch.actions.hooks.contract import HookCode, HookContext, HookEvent, HookLake
from anabranch.actions.hooks.output import HookOutput
from anabranch.actions.hooks.registry import make_hook
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.run import HookRun, Run, hook_run_id
from anabranch.actions.runs.settings import ActionSettings
from anabranch.errors import AnabranchError
from anabranch.errors.dependency_errors import reason_of
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.trace_context import continued_trace, trace_headers

__all__ = ["AccessFor", "HookAccess", "Outcome", "Runner"]

_log = logging.getLogger(__name__)

_GRACE_SECONDS = 2.0
"""How long after the deadline a hook may take to notice it."""


class HookAccess(NamedTuple):
    """What a hook reaches: the lake, as far as the authors of its code may see it, and the code."""

    lake: HookLake
    code: HookCode


AccessFor = Callable[[Event, str, Action], HookAccess]
"""Returns what a hook of an action reaches, given the event and the run's id."""


class Outcome(NamedTuple):
    """A run that has ended, its hooks, their outputs by the ids of their runs, and one message for
    each that has failed.
    """

    run: Run
    hooks: Sequence[HookRun]
    outputs: dict[str, str]
    failures: Sequence[str]


class _Cell:
    """One hook of a run, and what became of it."""

    def __init__(self, run_id: str, action: Action, spec: HookSpec, ids: tuple[int, int]) -> None:
        self.action = action
        self.spec = spec
        self.failure = ""
        self.output = ""
        self.hook = HookRun(
            run_id=run_id,
            hook_run_id=hook_run_id(*ids),
            hook_id=spec.id,
            action=action.name,
        )


class Runner:
    """Runs hooks. `clock` returns seconds since 1970."""

    def __init__(
        self, settings: ActionSettings, access_for: AccessFor, clock: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._access_for = access_for
        self._clock = clock

    def run(
        self,
        repository: Repository,
        event: Event,
        actions: Sequence[Action],
        run_id: str,
        commit: Commit | None = None,
    ) -> Outcome:
        """Runs the hooks of actions, and returns what became of them. `commit` is that of the
        event, if it has one.
        """
        started = self._clock()
        execution = _Execution(
            self._settings, self._access_for, self._clock, repository, event, run_id, commit
        )
        cells = execution.run(actions)
        failures = [
            f"hook run id '{cell.hook.hook_run_id}' failed on action '{cell.action.name}' "
            f"hook '{cell.spec.id}': action failed: {cell.failure}"
            for cell in cells
            if cell.failure
        ]
        run = Run(
            id=run_id,
            event=event.type,
            branch=event.branch,
            source_ref=event.source_ref,
            commit_id=event.commit_id if event.type.names_commit else "",
            started=started,
            ended=self._clock(),
            passed=not failures,
        )
        outputs = {cell.hook.hook_run_id: cell.output for cell in cells if not cell.hook.skipped}
        return Outcome(run, [cell.hook for cell in cells], outputs, failures)


class _Execution:
    """The execution of one run."""

    def __init__(
        self,
        settings: ActionSettings,
        access_for: AccessFor,
        clock: Callable[[], float],
        repository: Repository,
        event: Event,
        run_id: str,
        commit: Commit | None,
    ) -> None:
        self._settings = settings
        self._access_for = access_for
        self._clock = clock
        self._repository = repository
        self._event = event
        self._run_id = run_id
        self._commit = commit
        self._deadline = time.monotonic() + settings.timeout
        self._lock = threading.Lock()
        self._closed = False
        """Whether the run has ended: what a hook that was left behind does no longer counts."""

    def run(self, actions: Sequence[Action]) -> list[_Cell]:
        """Runs the hooks of all actions and returns their cells, in order."""
        lines = [
            [
                _Cell(self._run_id, action, spec, (number, position))
                for position, spec in enumerate(action.hooks)
            ]
            for number, action in enumerate(actions)
        ]
        waiting = iter(lines)
        threads = [
            threading.Thread(
                target=self._run_traced,
                args=(waiting, trace_headers()),
                name=f"hooks-{self._run_id}",
                daemon=True,
            )
            for _ in range(min(len(lines), self._settings.parallel_actions))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self._deadline + _GRACE_SECONDS - time.monotonic()))
        with self._lock:
            self._closed = True
        cells = [cell for line in lines for cell in line]
        for cell in cells:
            if cell.hook.started and not cell.hook.ended:
                cell.failure = f"it did not end within {self._settings.timeout:g} seconds"
                cell.output = f"Error: {cell.failure}\n"
                cell.hook = msgspec.structs.replace(cell.hook, ended=self._clock())
        return cells

    def _run_traced(self, waiting: Iterator[list[_Cell]], trace: Mapping[str, str]) -> None:
        """Runs hooks as part of the trace of the request that causes them."""
        with continued_trace(trace):
            self._run_actions(waiting)

    def _run_actions(self, waiting: Iterator[list[_Cell]]) -> None:
        """Runs the hooks of one action after another, until none is left."""
        while True:
            with self._lock:
                line = next(waiting, None)
                if line is None or self._closed:
                    return
            failed = False
            for cell in line:
                seen = self._event.for_hook(self._run_id, cell.action.name, cell.spec.id)
                if cell.spec.condition.evaluate(_situation(seen, failed=failed)):
                    failed |= not self._run_hook(cell, seen)

    def _run_hook(self, cell: _Cell, seen: HookEvent) -> bool:
        """Runs one hook; returns whether it has passed."""
        with self._lock:
            if self._closed:
                return False
            cell.hook = msgspec.structs.replace(cell.hook, started=self._clock())
        output = HookOutput(self._settings.output_bytes)
        failure = ""
        try:
            make_hook(cell.spec.type, cell.spec.properties).run(
                self._context(cell.action, seen, output)
            )
        except AnabranchError as error:
            failure = error.message or error.kind
        except Exception as error:  # noqa: BLE001  hooks may raise anything
            _log.warning("hook %s of run %s", cell.spec.id, self._run_id, exc_info=True)
            failure = f"{type(error).__name__}: {reason_of(error)}"
        failure = output.redact(failure)
        with self._lock:
            if self._closed:
                return False
            cell.failure = failure
            cell.output = output.text() + (f"Error: {failure}\n" if failure else "")
            cell.hook = msgspec.structs.replace(cell.hook, ended=self._clock(), passed=not failure)
        return not failure

    def _context(self, action: Action, seen: HookEvent, output: HookOutput) -> HookContext:
        event = self._event
        access = self._access_for(event, self._run_id, action)
        return HookContext(
            event=seen,
            reference=event.reference,
            base=event.base,
            lake=access.lake,
            code=access.code,
            output=output,
            deadline=self._deadline,
            environment=os.environ,
            settings=self._settings.hooks,
            storage_namespace=self._repository.storage_namespace,
            username=event.username,
            pre_run_id=event.pre_run_id,
            commit=self._commit,
        )


def _situation(event: HookEvent, *, failed: bool) -> Situation:
    fields = {name: getattr(event, name) for name in FIELDS}
    return Situation(failed, fields, event.commit_metadata)
