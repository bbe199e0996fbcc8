"""The engine: runs the hooks of events before and after changes, and records their runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from anabranch.actions.files.action import Action
from anabranch.actions.files.stored_files import StoredActionFiles
from anabranch.actions.hooks.registry import make_hook
from anabranch.actions.queue.deliveries import Attempt, Deliveries
from anabranch.actions.queue.queue import QUEUED_DECODER, Queue, Queued
from anabranch.actions.queue.workers import Workers
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.logs import RunLogs
from anabranch.actions.runs.records import RunRecords
from anabranch.actions.runs.run import HookRun, Run, hook_run_id
from anabranch.actions.runs.runner import AccessFor, Outcome, Runner
from anabranch.actions.runs.running import Heartbeat, Running, RunningRuns
from anabranch.actions.runs.settings import ActionSettings
from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError, Busy, Invalid, PreconditionFailed
from anabranch.keyvalue.contract import Write
from anabranch.model.commits.commit import Commit
from anabranch.model.notifications import NotificationEvent, Occurrence
from anabranch.model.repositories.repository import Repository
from anabranch.spent_time import timed
from anabranch.trace_context import continued_trace, trace_headers
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["Engine"]

_log = logging.getLogger(__name__)


class Engine:
    """Runs hooks. `access_for` gives them what they reach; `serves` returns whether this process
    can act for the user who caused an event; `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        core: Core,
        blocks: BlockStore,
        settings: ActionSettings,
        access_for: AccessFor,
        serves: Callable[[Event], bool],
        clock: Callable[[], float],
    ) -> None:
        keyvalue = core.keyvalue
        self.settings = settings
        self.clock = clock
        self._core = core
        self._keyvalue = keyvalue
        self.files = StoredActionFiles(core, blocks, make_hook)
        self.records = RunRecords(keyvalue)
        self.logs = RunLogs(blocks)
        self.running = RunningRuns(keyvalue, self.records, self.logs, clock)
        self.deliveries: Deliveries | None = None
        """What traces the hooks of queued events, set by a server that sends traces."""
        self._serves = serves
        self._runner = Runner(settings, access_for, clock)
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._queue = Queue(keyvalue, core.identifiers, self.running)
        self._workers = Workers(self._queue, self._perform, limit=settings.concurrency)
        self._heartbeat = Heartbeat(self.running)

    def start(self) -> None:
        """Starts to run the hooks of queued events."""
        if self.settings.enabled:
            self._heartbeat.start()
            self._workers.start()

    def stop(self) -> None:
        """Stops; hooks that are still running after a while are run again by the next server."""
        self._workers.stop()
        self._heartbeat.stop()

    def before(
        self,
        repository: Repository,
        event: Event,
        actions: Sequence[Action],
        commit: Commit | None = None,
    ) -> Run | None:
        """Runs the hooks before a change, and returns their run, None if none has run.

        Raises PreconditionFailed (kind hook_failed) if one has failed, Busy if too many changes are
        waiting for hooks.
        """
        outcome = self.run(repository, event, actions, commit)
        if outcome.failures:
            raise abort_error(event, outcome.run.id, _number(outcome.failures))
        return outcome.run if any(not hook.skipped for hook in outcome.hooks) else None

    @timed("hooks")
    def run(
        self,
        repository: Repository,
        event: Event,
        actions: Sequence[Action],
        commit: Commit | None = None,
    ) -> Outcome:
        """Runs hooks while the caller waits, and stores their run unless none has run. Raises
        Busy.
        """
        if not self._slots.acquire(blocking=False):
            raise Busy(
                f"{self.settings.concurrency} changes are waiting for hooks already",
                kind="too_many_hooks",
            )
        try:
            begun = self._begin(repository, event, actions)
            with self.running.abandoned_on_error(begun.run.id):
                self._keyvalue.apply([self.running.begin(begun)])
                try:
                    outcome = self._runner.run(repository, event, actions, begun.run.id, commit)
                except BaseException:
                    self._keyvalue.apply([self.running.end(begun.run.id)])
                    raise
                writes = self._store(repository, outcome)
                self._keyvalue.apply([self.running.end(begun.run.id), *writes])
            return outcome
        finally:
            self._slots.release()

    def queue(self, event: Event, repository: Repository, places: Sequence[str]) -> Write:
        """Returns the write that queues an event after a change; its action files are read at the
        commits `places`. `wake` makes the workers find it.
        """
        queued = Queued(
            event=event,
            partition=repository.partition,
            places=tuple(places),
            trace=trace_headers(),
        )
        return self._queue.add(queued)

    def wake(self) -> None:
        """Makes the workers look for queued events."""
        self._workers.wake()

    @property
    def waiting_events(self) -> int:
        """How many events wait for their hooks to be run, of all servers."""
        return self._workers.waiting

    def _perform(self, key: bytes, raw: bytes) -> bool:
        """Runs the hooks of a queued event, unless another server does; returns whether it ran
        them.
        """
        queued = QUEUED_DECODER.decode(raw)
        event = queued.event
        if not self._serves(event):
            return False
        repository = self._repository(queued)
        actions: Sequence[Action] = ()
        failure = ""
        if repository is not None:
            try:
                places = [Resolved(commit_id) for commit_id in queued.places]
                actions = self._matching(self.files.read(repository, *places), event)
            except Busy:
                raise
            except AnabranchError as error:
                failure = error.message
        if repository is None or not (actions or failure):
            return self._queue.drop(key, raw)
        claim = self._queue.claim(key, raw, self._begin(repository, event, actions))
        if claim is None:
            return False
        with self.running.abandoned_on_error(claim.queued.run_id):
            outcome = self._deliver(repository, claim.queued, actions, failure)
            if not self._queue.holds(claim):  # the log says that this server has stopped
                self.running.end(claim.queued.run_id)
                return False
            return self._queue.finish(claim, self._store(repository, outcome))

    def _deliver(
        self, repository: Repository, queued: Queued, actions: Sequence[Action], failure: str
    ) -> Outcome:
        """Runs the hooks of a claimed event, as a part of the trace of the request that has queued
        it.
        """
        if self.deliveries is None:
            with continued_trace(queued.trace):
                return self._outcome(repository, queued, actions, failure)
        event = queued.event
        attempt = Attempt(str(event.type), event.id, queued.run_id, queued.attempts, queued.trace)
        with (
            self.deliveries.deliver(attempt) as delivery,
            continued_trace(delivery.trace_headers),
        ):
            outcome = self._outcome(repository, queued, actions, failure)
            if outcome.failures:
                delivery.fail()
            return outcome

    def _outcome(
        self, repository: Repository, queued: Queued, actions: Sequence[Action], failure: str
    ) -> Outcome:
        """Runs the hooks of a claimed event, whose action files cannot be read if there is a
        `failure`.
        """
        event = queued.event
        if failure:
            return self._unreadable(queued.run_id, event, failure)
        commit = self._core.commits.find(repository, event.commit_id) if event.commit_id else None
        return self._runner.run(repository, event, actions, queued.run_id, commit)

    def _repository(self, queued: Queued) -> Repository | None:
        """Returns the repository of a queued event, None if it was deleted."""
        try:
            repository = self._core.repositories.get(queued.event.repository)
        except Busy:
            raise
        except AnabranchError:
            return None
        return repository if repository.partition == queued.partition else None

    def _matching(self, actions: Sequence[Action], event: Event) -> Sequence[Action]:
        return [action for action in actions if action.runs_on(event.type, event.branch)]

    def _unreadable(self, run_id: str, event: Event, failure: str) -> Outcome:
        """Returns the failed run of an event whose action files cannot be read."""
        _log.warning("run %s of %s: %s", run_id, event.repository, failure)
        now = self.clock()
        run = Run(
            id=run_id,
            event=event.type,
            branch=event.branch,
            source_ref=event.source_ref,
            commit_id=event.commit_id,
            started=now,
            ended=now,
        )
        hook = HookRun(
            run_id=run_id,
            hook_run_id=hook_run_id(0, 0),
            hook_id="action_files",
            action="action files",
            started=now,
            ended=now,
        )
        return Outcome(run, [hook], {hook.hook_run_id: f"Error: {failure}\n"}, [failure])

    def _store(self, repository: Repository, outcome: Outcome) -> list[Write]:
        """Writes the logs of a run and returns the writes that record it; none if no hook ran."""
        if all(hook.skipped for hook in outcome.hooks):
            return []
        self.logs.write(repository.storage_namespace, outcome.run, outcome.hooks, outcome.outputs)
        writes = self.records.writes(repository.id, outcome.run, outcome.hooks)
        if outcome.failures:
            writes = [*writes, *self._core.outbox.writes(repository, _failed(outcome))]
        return writes

    def _begin(self, repository: Repository, event: Event, actions: Sequence[Action]) -> Running:
        """Returns a new run that has just begun."""
        run_id = self._core.identifiers.run_id()
        run = Run(
            id=run_id,
            event=event.type,
            branch=event.branch,
            source_ref=event.source_ref,
            commit_id=event.commit_id if event.type.names_commit else "",
            started=self.clock(),
        )
        hooks = [
            HookRun(
                run_id=run_id,
                hook_run_id=hook_run_id(number, position),
                hook_id=spec.id,
                action=action.name,
            )
            for number, action in enumerate(actions)
            for position, spec in enumerate(action.hooks)
        ]
        return Running(
            repository=repository.id,
            namespace=repository.storage_namespace,
            run=run,
            hooks=hooks,
            chain=event.chain,
        )


def abort_error(event: Event, run_id: str, reason: str) -> PreconditionFailed:
    """Returns the error of a change that hooks have refused, in the words of lakeFS."""
    return PreconditionFailed(
        f"{event.type} hook aborted, run id '{run_id}': {reason}",
        kind="hook_failed",
        hint="The outputs of the hooks: "
        f"anabranch actions show lakefs://{event.repository} {run_id}",
    )


def _failed(outcome: Outcome) -> Occurrence:
    """Returns what notifications say of a run whose hooks have failed."""
    run = outcome.run
    failed = (hook for hook in outcome.hooks if not hook.skipped and not hook.passed)
    return Occurrence(
        event=NotificationEvent.HOOK_FAILED,
        commit_id=run.commit_id,
        run_id=run.id,
        hook_event=run.event,
        branch=run.branch,
        hooks=tuple(f"{hook.action}/{hook.hook_id}" for hook in failed),
    )


def unreadable_files(event: Event, run_id: str, error: Invalid) -> PreconditionFailed:
    """Returns the error of a change whose action files are wrong."""
    failed = abort_error(event, run_id, f"load actions: {error.message}")
    failed.hint = error.hint or "Correct the file, or remove it, and try again."
    return failed


def _number(failures: Sequence[str]) -> str:
    """Returns messages in the form of Go's multierror, as lakeFS does."""
    count = "1 error" if len(failures) == 1 else f"{len(failures)} errors"
    lines = "".join(f"\n\t* {failure}" for failure in failures)
    return f"{count} occurred:{lines}\n\n"
