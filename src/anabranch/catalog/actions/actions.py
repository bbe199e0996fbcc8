"""Use cases of actions: read the runs of hooks, and run hooks by hand."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.actions.engine import Engine
from anabranch.actions.files.action import Action
from anabranch.actions.files.events import EventType
from anabranch.actions.loops import require_no_loop
from anabranch.actions.runs.code import CodePlace, code_brought
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.run import HookRun, Run
from anabranch.actions.runs.runner import Outcome
from anabranch.errors import Gone, Invalid, NotFound, NotSupported, PreconditionFailed
from anabranch.model.caller import current_caller
from anabranch.model.page import Page
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["Actions"]


class Actions:
    """Use cases of actions."""

    def __init__(self, core: Core, engine: Engine) -> None:
        self._core = core
        self._engine = engine

    def runs(
        self,
        repository: str,
        *,
        branch: str = "",
        commit_id: str = "",
        after: str = "",
        amount: int,
    ) -> Page[Run]:
        """Returns a page of runs, the newest first: of a branch, of a commit, or all."""
        self._core.repositories.get(repository)
        return self._engine.records.list(
            repository, branch=branch, commit_id=commit_id, after=after, amount=amount
        )

    def run(self, repository: str, run_id: str) -> Run:
        """Returns a run. Raises NotFound."""
        self._core.repositories.get(repository)
        return self._engine.records.get(repository, run_id)

    def hooks(self, repository: str, run_id: str, *, after: str = "", amount: int) -> Page[HookRun]:
        """Returns a page of the hooks of a run, in their order. Raises NotFound."""
        self._core.repositories.get(repository)
        return self._engine.records.hooks(repository, run_id, after=after, amount=amount)

    def output(self, repository: str, run_id: str, hook_run_id: str) -> bytes:
        """Returns the output of a hook, empty if it was skipped. Raises NotFound, also for output
        that could not be stored.
        """
        stored_repository = self._core.repositories.get(repository)
        hook = self._engine.records.hook(repository, run_id, hook_run_id)
        if hook.skipped:
            return b""
        try:
            return self._engine.logs.read(
                stored_repository.storage_namespace, hook.run_id, hook.hook_run_id
            )
        except Gone as error:
            raise NotFound(
                "the output of the hook is not in the object store",
                kind="output_not_found",
                hint="The store may have been unavailable when the hook ran.",
            ) from error

    def trigger(
        self,
        repository: str,
        reference: str,
        *,
        event: str = "",
        action: str = "",
        branch: str = "",
        base: str = "",
    ) -> Outcome:
        """Runs hooks on a reference while the caller waits: those that its action files declare for
        an event of a branch, which is by default the reference itself, or those of the action with
        a name, for the first of its events by default. `base` is what they compare it with, by
        default the commit before.

        Raises NotFound for a reference or an action that does not exist, Invalid without an event
        and an action, PreconditionFailed for action files that are wrong.
        """
        if not self._engine.settings.enabled:
            raise NotSupported("hooks are disabled: actions.enabled", kind="actions_disabled")
        stored_repository = self._core.repositories.get(repository)
        resolved = self._core.references.resolve(stored_repository, reference)
        if resolved.branch is not None:
            branch = branch or resolved.branch.branch.id
        event_type = _event_type(event) if event else None
        subject = f"{repository}/{branch}"
        caller = current_caller()
        if caller.chain:
            require_no_loop(caller, subject)
        if event_type is None and not action:
            raise Invalid(
                "name an event or an action",
                kind="nothing_to_run",
                hint=f"The events are {', '.join(EventType)}.",
            )
        actions = self._actions(stored_repository, resolved, action)
        if event_type is None:
            event_type = next(iter(actions[0].on))
        commit = self._core.commits.get(stored_repository, resolved.commit_id)
        if not base:
            parents = commit.parents[:1]
            base = resolved.commit_id if resolved.branch else "".join(parents)
        happened = Event(
            type=event_type,
            time=self._engine.clock(),
            repository=repository,
            branch=branch,
            source_ref=reference,
            commit_id=resolved.commit_id,
            commit_message=commit.message,
            committer=commit.committer,
            commit_metadata=commit.metadata,
            reference=reference,
            base=base or None,
            username=caller.username,
            created_at=caller.created_at,
            record_id=caller.record_id,
            others=caller.others,
            code=self._code(stored_repository, reference, resolved, actions),
            chain=(*caller.chain, subject),
        )
        if not action:
            actions = [each for each in actions if each.runs_on(event_type, branch)]
        return self._engine.run(stored_repository, happened, actions, commit)

    def _code(
        self,
        repository: Repository,
        reference: str,
        resolved: Resolved,
        actions: Sequence[Action],
    ) -> CodePlace:
        """Returns where the code of actions is read, staged changes of a branch included."""
        core = self._core
        branch, brought = "", {}
        if resolved.branch is not None:
            branch = resolved.branch.branch.id
            brought = code_brought(
                *(core, repository, actions),
                lambda path: core.objects.value(repository, resolved, path),
                base=resolved.commit_id,
                staged=resolved,
            )
        return CodePlace(
            reference=reference,
            base=resolved.commit_id,
            branch=branch,
            settled=resolved.commit_id,
            brought=brought,
        )

    def _actions(self, repository: Repository, resolved: Resolved, name: str) -> Sequence[Action]:
        try:
            actions = self._engine.files.read(repository, resolved)
        except Invalid as error:
            message = f"load actions: {error.message}"
            raise PreconditionFailed(message, kind="hook_failed", hint=error.hint) from error
        named = [each for each in actions if each.name == name or not name]
        if name and not named:
            raise NotFound(
                f"there is no action {name!r}",
                kind="action_not_found",
                hint=f"There are {', '.join(each.name for each in actions) or 'none'}.",
            )
        return named


def _event_type(name: str) -> EventType:
    try:
        return EventType(name)
    except ValueError:
        raise Invalid(
            f"unknown event {name[:100]!r}",
            kind="unknown_event",
            hint=f"The events are {', '.join(EventType)}.",
        ) from None
