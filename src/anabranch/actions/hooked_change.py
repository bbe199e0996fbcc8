"""A change with hooks: it runs them before a branch moves, and queues those after."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from anabranch.actions.change import Change, Kind, Subject, name_of
from anabranch.actions.engine import Engine, unreadable_files
from anabranch.actions.files.action import Action
from anabranch.actions.files.events import EventType
from anabranch.actions.runs.code import (
    CodePlace,
    code_brought,
    require_same_code,
    tree_reader,
)
from anabranch.actions.runs.event import Event
from anabranch.actions.runs.run import Run
from anabranch.errors import AnabranchError, Invalid
from anabranch.keyvalue.contract import Write
from anabranch.model.caller import current_caller
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import Examination
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved, at_branch
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["HookedChange"]

_log = logging.getLogger(__name__)


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
        *,
        with_tree: bool,
    ) -> None:
        super().__init__()
        caller = current_caller()
        self._caller = caller
        self._core = core
        self._engine = engine
        self._kind = kind
        self._repository = repository
        self._subject = subject
        self._places = places
        self._with_tree = with_tree
        self._chain = (*caller.chain, name_of(repository, subject))
        self._actions: Sequence[Action] | None = None
        self._run: Run | None = None
        """The run of the hooks before the change."""
        self._completed_run: Run | None = None

    def prepare(self) -> None:
        """Runs the hooks of prepare-commit."""
        event = self._event(EventType.PREPARE_COMMIT, reference=self._subject.branch)
        if actions := self._matching(event):
            code = self._code_before(actions, self._subject.branch)
            self._engine.before(self._repository, _with(event, code), actions)
            # a hook may have staged action files
            branch = self._core.branches.read(self._repository, self._subject.branch)
            self._places = [at_branch(branch)]
            self._actions = None

    def before(self) -> None:
        """Runs the hooks before a change that makes no commit."""
        subject = self._subject
        reference = subject.commit_id or subject.source_ref
        event = self._event(EventType(f"pre-{self._kind}"), reference=reference)
        if self._kind == "delete-branch":  # as in lakeFS
            event = msgspec.structs.replace(event, commit_id="")
        if actions := self._matching(event):
            code = self._code_before(actions, subject.source_ref)
            commit = None
            if subject.commit_id:
                commit = self._core.commits.find(self._repository, subject.commit_id)
            self._run = self._engine.before(self._repository, _with(event, code), actions, commit)

    @property
    def examination(self) -> Examination | None:
        """The hooks before a branch moves to a commit; None if there are none. Raises
        PreconditionFailed if the action files are wrong.
        """
        if self._kind == "merge":  # only its result shows which files there are
            return self
        event = self._event(EventType(f"pre-{self._kind}"), reference="")
        return self if self._matching(event) else None

    def examine(self, commit: Commit, head: Commit) -> None:
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
        if self._changes_files:
            self._actions = self._read(event, Resolved(commit.id))
        if actions := self._matching(event):
            code = self._code_of(actions, commit, settled=head.id)
            self._run = self._engine.before(self._repository, _with(event, code), actions, commit)

    def writes_for(self, result: object, /) -> ExtraWrites:
        """Returns the writes that queue the hooks after the change, complete the run of those
        before, and attribute a commit to the caller.
        """
        commit = result if isinstance(result, Commit) else None
        writes: list[Write] = []
        self._completed_run = None
        if commit is not None:
            self._require_same_code(commit)
            writes.append(self._core.code_authors.of_commit(self._repository, commit.id))
        if self._run is not None and commit is not None:
            completed = msgspec.structs.replace(self._run, commit_id=commit.id)
            self._completed_run = completed
            writes += self._engine.records.writes(self._repository.id, completed)
        event = self._after(commit)
        if commit is not None and self._changes_files:
            if actions := self._matching(event):
                code = self._code_of(actions, commit, settled=commit.id)
                writes.append(self._queue(event, code, commit.id))
        elif self._matches_committed(event):
            writes.append(self._queue(event, self._committed_code, self._places[0].commit_id))
        return writes, ()

    def _require_same_code(self, commit: Commit) -> None:
        """Raises Denied if the keys of a workspace change the code of any hooks."""
        if not self._caller.workspace or not commit.parents:
            return
        head = self._core.commits.get(self._repository, commit.parents[0])
        try:
            actions = self._engine.files.read(self._repository, Resolved(head.id), *self._places)
        except Invalid as error:
            raise unreadable_files(
                self._after(commit), self._core.identifiers.run_id(), error
            ) from error
        require_same_code(self._core, self._repository, actions, head, commit)

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

    @property
    def _changes_files(self) -> bool:
        """Whether hooks run by the action files of the commit that the change makes."""
        return self._kind in ("commit", "merge")

    def _matching(self, event: Event) -> Sequence[Action]:
        """Returns the actions that run on an event. Raises PreconditionFailed if the action files
        are wrong and the event can be refused.
        """
        if self._actions is None:
            self._actions = self._read(event, *self._places)
        return [each for each in self._actions if each.runs_on(event.type, event.branch)]

    def _read(self, event: Event, *places: Resolved) -> Sequence[Action]:
        try:
            return self._engine.files.read(self._repository, *places)
        except Invalid as error:
            raise unreadable_files(event, self._core.identifiers.run_id(), error) from error

    def _matches_committed(self, event: Event) -> bool:
        """Returns whether actions run on an event after the change: those that are committed where
        the hooks before it were read. Wrong files are left to the run after the change.
        """
        if not self._places:
            return False
        place = self._places[0]
        if not place.tokens:
            return bool(self._matching(event))
        try:
            actions = self._engine.files.read(self._repository, Resolved(place.commit_id))
        except Invalid:
            return True
        return any(each.runs_on(event.type, event.branch) for each in actions)

    @property
    def _committed_code(self) -> CodePlace:
        """Where the code of a change is read that brings none."""
        commit_id = self._places[0].commit_id
        return CodePlace(
            reference=commit_id, base=commit_id, branch=self._branch, settled=commit_id
        )

    def _code_before(self, actions: Sequence[Action], reference: str) -> CodePlace:
        """Returns where the code of hooks before a change is read, at a reference whose staged
        changes count, too.
        """
        core, repository, place = self._core, self._repository, self._places[0]
        if not place.tokens:
            return self._committed_code
        brought = code_brought(
            *(core, repository, actions, lambda path: core.objects.value(repository, place, path)),
            base=place.commit_id,
            staged=place,
        )
        return msgspec.structs.replace(self._committed_code, reference=reference, brought=brought)

    def _code_of(self, actions: Sequence[Action], commit: Commit, *, settled: str) -> CodePlace:
        """Returns where the code is read of hooks that examine a commit, which may bring some."""
        if not self._changes_files:
            return self._committed_code
        core, repository = self._core, self._repository
        base = commit.parents[0]
        staged = None
        if self._kind == "commit" and not self._with_tree:
            staged = at_branch(core.branches.read(repository, self._subject.branch))
        brought = code_brought(
            *(core, repository, actions, tree_reader(core, repository, commit)),
            base=base,
            source=self._places[0].commit_id if self._kind == "merge" else "",
            staged=staged,
        )
        return CodePlace(
            reference=commit.id, base=base, branch=self._branch, settled=settled, brought=brought
        )

    @property
    def _branch(self) -> str:
        """The branch that the action files are on: of a new one, its source; "" for none."""
        if self._kind != "create-branch":
            return self._subject.branch
        place = self._places[0]
        return "" if place.branch is None else place.branch.branch.id

    def _queue(self, event: Event, code: CodePlace, place: str) -> Write:
        return self._engine.queue(_with(event, code), self._repository, [place])

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
            username=self._caller.username,
            created_at=self._caller.created_at,
            record_id=self._caller.record_id,
            others=self._caller.others,
            chain=self._chain,
            pre_run_id="" if self._run is None else self._run.id,
        )


def _with(event: Event, code: CodePlace) -> Event:
    return msgspec.structs.replace(event, code=code)
