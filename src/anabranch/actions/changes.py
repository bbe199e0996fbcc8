"""Changes with hooks: the one way in which changes of repositories run hooks.

    change = changes.begin("commit", repository, Subject(branch="main"), at_branch(stored))
    change.prepare()
    committer.commit(..., examine=change.examine, extra_writes=combine(extra, change.record))
    change.end()

Before a branch moves, `examine` runs hooks on the commit that it would move to; for other changes,
`before` runs them. `record` adds the writes that queue the hooks after the change to those of the
change itself, so that none is lost, and that name the commit in the run of the hooks before.

A repository without action files has NO_HOOKS, whose functions do nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from anabranch.actions.caller import current_caller, require_no_loop
from anabranch.actions.engine import Engine, unreadable_files
from anabranch.actions.files.action import Action
from anabranch.actions.files.events import EventType
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.run import Run
from anabranch.errors import AnabranchError, Invalid
from anabranch.keyvalue.contract import Write
from anabranch.model.commit import Commit
from anabranch.model.repository import Repository
from anabranch.versioning.committer import Examine
from anabranch.versioning.core import Core
from anabranch.versioning.references import Resolved, at_branch
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["NO_HOOKS", "Change", "Changes", "Kind", "Subject"]

_log = logging.getLogger(__name__)

Kind = Literal[
    "commit",
    "merge",
    "create-tag",
    "delete-tag",
    "create-branch",
    "delete-branch",
    "revert",
    "cherry-pick",
]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a change concerns, as webhooks see it; see `HookEvent`. Times and the result of the
    change are not part of it.
    """

    branch: str = ""
    tag: str = ""
    source_ref: str = ""
    commit_id: str = ""
    commit_message: str = ""
    committer: str = ""
    commit_metadata: Mapping[str, str] = {}
    merge_source: str = ""


class Change:
    """A change without hooks."""

    has_hooks = False

    def __init__(self, *, is_staged: bool = False) -> None:
        self.is_staged = is_staged
        """Whether the branch was seen to have changes in its active staging area."""

    @property
    def examine(self) -> Examine | None:
        """Runs the hooks before a branch moves to a commit; None if there are none."""
        return None

    def prepare(self) -> None:
        """Runs the hooks that may still write to the branch. Raises what `before` raises."""

    def before(self) -> None:
        """Runs the hooks before the change. Raises PreconditionFailed if one fails."""

    def record(self, result: object) -> ExtraWrites:  # noqa: ARG002  nothing to record
        """Returns the writes to add to those of the change: of its commit, if it has one."""
        return (), ()

    def end(self) -> None:
        """Lets the hooks after the change run, since it was made."""


NO_HOOKS = Change()
STAGED_WITHOUT_HOOKS = Change(is_staged=True)


class Changes:
    """Makes changes with hooks."""

    def __init__(self, core: Core, engine: Engine) -> None:
        self._core = core
        self._engine = engine

    def begin(
        self, kind: Kind, repository: Repository, subject: Subject, *places: Resolved
    ) -> Change:
        """Returns the hooks of a change, whose action files are read at `places`. Raises Conflict
        (kind hook_loop) if a hook makes the change that has run it.
        """
        caller = current_caller()
        if caller.chain:
            require_no_loop(caller, _name(repository, subject))
        if not self._engine.settings.enabled or repository.read_only:
            return NO_HOOKS
        look = self._engine.files.look(repository, *places)
        if not look.exist:
            return STAGED_WITHOUT_HOOKS if look.staged else NO_HOOKS
        return HookedChange(self._core, self._engine, kind, repository, subject, places)


class HookedChange(Change):
    """A change in a repository that has action files."""

    has_hooks = True

    def __init__(
        self,
        core: Core,
        engine: Engine,
        kind: Kind,
        repository: Repository,
        subject: Subject,
        places: Sequence[Resolved],
    ) -> None:
        super().__init__()
        caller = current_caller()
        self._core = core
        self._engine = engine
        self._kind = kind
        self._repository = repository
        self._subject = subject
        self._places = places
        self._username = caller.username
        self._chain = (*caller.chain, _name(repository, subject))
        self._actions: Sequence[Action] | None = None
        self._run: Run | None = None
        """The run of the hooks before the change."""
        self._completed_run: Run | None = None

    def prepare(self) -> None:
        """Runs the hooks of prepare-commit."""
        event = self._event(EventType.PREPARE_COMMIT, reference=self._subject.branch)
        if actions := self._matching(event):
            self._engine.before(self._repository, event, actions)
            # a hook may have staged action files
            branch = self._core.branches.read(self._repository, self._subject.branch)
            self._places = [at_branch(branch)]
            self._actions = None

    def before(self) -> None:
        """Runs the hooks before a change that makes no commit."""
        reference = self._subject.commit_id or self._subject.source_ref
        event = self._event(EventType(f"pre-{self._kind}"), reference=reference)
        if actions := self._matching(event):
            commit = self._core.commits.find(self._repository, self._subject.commit_id)
            self._run = self._engine.before(self._repository, event, actions, commit)

    @property
    def examine(self) -> Examine | None:
        """Runs the hooks before a branch moves to a commit; None if there are none. Raises
        PreconditionFailed if the action files are wrong.
        """
        event = self._event(EventType(f"pre-{self._kind}"), reference="")
        return self._examine if self._matching(event) else None

    def _examine(self, commit: Commit, head: Commit) -> None:
        """Runs the hooks before a branch moves from its head to a commit."""
        event = self._event(
            EventType(f"pre-{self._kind}"),
            reference=commit.id,
            base=head.id,
            commit=commit,
            merged_ref=commit.id,
            # lakeFS knows the commit before a merge alone
            commit_id=commit.id if self._kind == "merge" else "",
        )
        self._run = None
        if self._kind == "commit":  # with the files that it commits
            self._actions = None
            self._places = [Resolved(commit.id)]
        if actions := self._matching(event):
            self._run = self._engine.before(self._repository, event, actions, commit)

    def record(self, result: object) -> ExtraWrites:
        """Returns the writes that queue the hooks after the change and complete the run of those
        before.
        """
        commit = result if isinstance(result, Commit) else None
        writes: list[Write] = []
        self._completed_run = None
        if self._run is not None and commit is not None:
            completed = msgspec.structs.replace(self._run, commit_id=commit.id)
            self._completed_run = completed
            writes += self._engine.records.writes(self._repository.id, completed)
        event = self._after(commit)
        if self._matching(event):
            places = (
                [commit.id]
                if commit is not None and self._kind == "commit"
                else [place.commit_id for place in self._places]
            )
            writes.append(self._engine.queue(event, self._repository, places))
        return writes, ()

    def end(self) -> None:
        """Completes the manifest of the run before the change, and wakes the workers."""
        self._engine.wake()
        run = self._completed_run
        if run is None:
            return
        try:
            hooks = self._engine.records.hooks(self._repository.id, run.id, amount=100_000).items
            self._engine.logs.write_manifest(self._repository.storage_namespace, run, hooks)
        except AnabranchError as error:
            _log.warning("the manifest of run %s was not completed: %s", run.id, error.message)

    def _matching(self, event: Event) -> Sequence[Action]:
        """Returns the actions that run on an event. Raises PreconditionFailed if the action files
        are wrong and the event can be refused.
        """
        if self._actions is None:
            try:
                self._actions = self._engine.files.read(self._repository, *self._places)
            except Invalid as error:
                raise unreadable_files(event, self._core.identifiers.run_id(), error) from error
        return [each for each in self._actions if each.runs_on(event.type, event.branch)]

    def _after(self, commit: Commit | None) -> Event:
        event_type = EventType(f"post-{self._kind}")
        if commit is None:
            reference = self._subject.commit_id or self._subject.source_ref
            return self._event(event_type, reference=reference)
        base = commit.parents[0] if commit.parents else None
        return self._event(
            event_type,
            reference=commit.id,
            base=base,
            commit=commit,
            commit_id=commit.id,
            source_ref=commit.id,
        )

    def _event(
        self,
        event_type: EventType,
        *,
        reference: str,
        base: str | None = None,
        commit: Commit | None = None,
        commit_id: str = "",
        source_ref: str = "",
        merged_ref: str = "",
    ) -> Event:
        subject = self._subject
        message, committer = subject.commit_message, subject.committer
        metadata = dict(subject.commit_metadata)
        if commit is not None:
            message, committer, metadata = commit.message, commit.committer, commit.metadata
        return Event(
            type=event_type,
            time=self._engine.clock(),
            repository=self._repository.id,
            branch=subject.branch,
            tag=subject.tag,
            source_ref=source_ref or subject.source_ref,
            commit_id=commit_id or subject.commit_id,
            commit_message=message,
            committer=committer,
            commit_metadata=metadata,
            merge_source=subject.merge_source,
            merged_ref=merged_ref,
            reference=reference,
            base=base,
            username=self._username,
            chain=self._chain,
            pre_run_id="" if self._run is None else self._run.id,
        )


def _name(repository: Repository, subject: Subject) -> str:
    """Returns the name of what a change concerns: a branch, or the tags of a repository."""
    return f"{repository.id}/{subject.branch}" if subject.branch else f"tags of {repository.id}"
