"""Plans of undo: which references and settings change, with the writes and their conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from anabranch.errors import Denied, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
    TagChanged,
)
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.operations.changes_since import SinceOfReference, state_of
from anabranch.versioning.operations.logged_records import (
    NOTIFICATIONS,
    PULL_REQUEST,
    setting_location,
)
from anabranch.versioning.operations.notification_changes import undone_targets
from anabranch.versioning.operations.pull_changes import logged_pulls, undone_pull
from anabranch.versioning.operations.record import reference_key
from anabranch.versioning.operations.refusals import changed_since, out_of_order
from anabranch.versioning.operations.restaging import restaged
from anabranch.versioning.operations.restored_pulls import RestoredPulls
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.branch_ends import ends_from
from anabranch.versioning.records.expiring_branches import due_writes
from anabranch.versioning.records.pulls import pull_bytes, pull_from
from anabranch.versioning.records.workspaces import removal_writes
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.cleanup import discard

__all__ = ["Planner", "UndoPlan"]

_MAX_CHANGES = 10_000


class UndoPlan(msgspec.Struct, frozen=True):
    """The changes of references and settings that undo or restore is going to make. `discarded` of
    a branch are the staging areas that it gets back. `operation` is what is undone, or restored;
    `writes` and `unchanged` make the changes, and are the conditions on which they can be made.
    `refilled` are branches of the repository with a partition whose records do not change, since
    changes are staged again on them. `undone` are the changes of the operation that are taken back,
    none if it is restored.
    """

    operation: LoggedOperation
    changes: tuple[ReferenceChanged, ...]
    settings: tuple[SettingChanged, ...]
    writes: tuple[Write, ...]
    unchanged: tuple[Expect, ...]
    partition: str
    refilled: tuple[BranchChanged, ...] = ()
    undone: tuple[ReferenceChanged, ...] = ()


class Planner:
    """Collects the changes of a plan, with their writes and conditions."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        staging: Staging,
        repository: Repository,
        now: float,
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._staging = staging
        self._repository = repository
        self._now = now
        self.changes: list[ReferenceChanged] = []
        self.settings: list[SettingChanged] = []
        self.writes: list[Write] = []
        self.unchanged: list[Expect] = []
        self.refilled: list[BranchChanged] = []

    def plan(self, operation: LoggedOperation, undone: Sequence[ReferenceChanged] = ()) -> UndoPlan:
        """Returns the plan that undoes changes of an operation, or restores what was after it."""
        return UndoPlan(
            operation,
            tuple(self.changes),
            tuple(self.settings),
            tuple(self.writes),
            tuple(self.unchanged),
            self._repository.partition,
            tuple(self.refilled),
            tuple(undone),
        )

    def undo_setting(self, change: SettingChanged) -> None:
        """Adds the inverse of a change. Raises Conflict if the setting is not as it left it."""
        partition, key = setting_location(self._repository.partition, change)
        current, before = self._keyvalue.get(partition, key), change.before
        if change.kind == NOTIFICATIONS:
            before = undone_targets(current, change.before, change.after)
        elif change.kind == PULL_REQUEST and current is not None:
            pull = undone_pull(pull_from(current), change.before, change.after, self._now)
            before = pull_bytes(pull)
        elif current != change.after:
            raise changed_since(f"the setting {change.kind} has changed since")
        self.settings.append(SettingChanged(change.kind, change.name, change.after, change.before))
        self.unchanged.append(Expect(partition, key, current))
        self.writes.append(Write(partition, key, before))

    def restore_pulls(self, merges: Mapping[str, SettingChanged]) -> None:
        """Adds the changes of pull requests that follow from those of branches, given the first
        change that has merged each of them since, or has taken its merge back.
        """
        partition = self._repository.partition
        branches = [each for each in self.changes if isinstance(each, BranchChanged)]
        pulls = RestoredPulls(self._keyvalue, partition, branches, self._now)
        for record, pull in pulls.after(merges):
            after = pull_bytes(pull)
            logged = logged_pulls(record, after)
            self.settings.append(SettingChanged(PULL_REQUEST, pull.id, *logged))
            self.unchanged.append(Expect(partition, keys.pull(pull.id), record))
            self.writes.append(Write(partition, keys.pull(pull.id), after))

    def undo(self, change: ReferenceChanged) -> None:
        """Adds the inverse of a change. Raises Conflict if the reference is not as it left it."""
        if isinstance(change, TagChanged):
            raw, current = self._tag(change.name)
            if current != change.after:
                raise changed_since(f"the tag {change.name} has changed since")
            self._add(TagChanged(current, change.before), raw)
            return
        if change.is_of_some_paths:
            self._undo_reset(change)
            return
        raw, branch = self._branch(change.name)
        if change.after is None:
            if branch is not None:
                raise changed_since(f"there is another branch {change.name}")
        elif branch is None:
            raise changed_since(f"the branch {change.name} was deleted since")
        elif branch.commit_id != change.after.commit_id:
            raise changed_since(f"the branch {change.name} has moved since, to {branch.commit_id}")
        before, discarded = change.before, self._filled(change.discarded)
        if branch is not None and change.after is not None and before is not None:
            before = _reverted(branch, before, change.after)
        self._require_unexpired(branch, before, discarded)
        self._add(BranchChanged(branch, before, discarded), raw)

    def _undo_reset(self, change: BranchChanged) -> None:
        """Adds the inverse of a reset of some paths. Raises Conflict if the branch has moved."""
        raw, branch = self._branch(change.name, dirty=True)
        if raw is None or branch is None or change.after is None:
            raise changed_since(f"the branch {change.name} was deleted since")
        if branch.commit_id != change.after.commit_id:
            raise changed_since(f"the branch {change.name} has moved since, to {branch.commit_id}")
        self._require_unexpired(branch, branch, change.discarded)
        writes, conditions = restaged(self._keyvalue, branch, change.discarded)
        self.changes.append(BranchChanged(branch, branch, change.discarded))
        self.unchanged += [Expect(self._repository.partition, reference_key(change), raw)]
        self.unchanged += conditions
        self.writes += [*writes, *discard(change.discarded, self._now)]
        self.refilled.append(BranchChanged(branch, branch))

    def restore(self, since: SinceOfReference) -> bool:
        """Adds what makes a reference what it was before its first change since; returns whether it
        differs. Raises Conflict if it is not as its last change has left it.
        """
        change = since.first
        if isinstance(change, TagChanged):
            raw, current = self._tag(change.name)
            self._require_state(current, since)
            if current == change.before:
                return False
            self._add(TagChanged(current, change.before), raw)
            return True
        raw, branch = self._branch(change.name)
        self._require_state(branch, since)
        before, discarded = change.before, self._filled(change.discarded)
        if not discarded and state_of(branch) == state_of(before):
            return False
        self._require_unexpired(branch, before, discarded)
        self._add(BranchChanged(branch, before, discarded), raw)
        if since.is_reused and branch is not None and before is not None:
            self._end_workspace(branch.id)
        return True

    def _require_state(self, current: Branch | Tag | None, since: SinceOfReference) -> None:
        if state_of(current) != state_of(since.last.after):
            raise out_of_order(since.last.name)

    def _end_workspace(self, name: str) -> None:
        """Adds the end of the workspace of a branch: its keys must not reach another branch."""
        repository = self._repository
        workspace = self._keyvalue.get(repository.partition, keys.workspace(name))
        self.writes += removal_writes(repository, name, workspace)

    def _require_unexpired(
        self, branch: Branch | None, before: Branch | None, discarded: tuple[str, ...]
    ) -> None:
        """Raises Conflict if a branch has expired, and would move or get staged changes."""
        if branch is None or before is None or not 0 < branch.expires_at <= self._now:
            return
        if discarded or branch.commit_id != before.commit_id:
            raise changed_since(f"the branch {branch.id} has expired")

    def _filled(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """Returns staging areas, none of them if they are empty."""
        return () if not tokens or self._staging.is_empty(tokens) else tokens

    def _tag(self, name: str) -> tuple[bytes | None, Tag | None]:
        raw = self._keyvalue.get(self._repository.partition, keys.tag(name))
        return raw, None if raw is None else references.tag_from(raw)

    def _branch(self, name: str, *, dirty: bool = False) -> tuple[bytes | None, Branch | None]:
        """Returns a branch and its record. Raises Conflict if it has uncommitted changes, unless it
        may be dirty.
        """
        raw = self._keyvalue.get(self._repository.partition, keys.branch(name))
        if raw is None:
            return None, None
        branch = references.branch_from(raw)
        if not dirty and not self._staging.is_empty(branch.tokens):
            raise changed_since(
                f"the branch {name} has uncommitted changes", "Commit them, or reset the branch."
            )
        return raw, branch

    def _add(self, change: ReferenceChanged, record: bytes | None) -> None:
        partition, key = self._repository.partition, reference_key(change)
        if change.after is None and key == keys.branch(self._repository.default_branch):
            raise Denied(
                "cannot delete repository default branch", kind="default_branch_undeletable"
            )
        if len(self.changes) == _MAX_CHANGES:
            raise Invalid(
                f"more than {_MAX_CHANGES} branches and tags have changed since",
                kind="too_many_changes",
            )
        self.changes.append(change)
        self.unchanged.append(Expect(partition, key, record))
        if isinstance(change, BranchChanged):
            self._add_branch(change, key)
        else:
            value = None if change.after is None else references.tag_bytes(change.after)
            self.writes.append(Write(partition, key, value))
        if record is None:  # names are of a branch or of a tag
            other = (keys.tag if isinstance(change, BranchChanged) else keys.branch)(change.name)
            if self._keyvalue.get(partition, other) is not None:
                raise changed_since(f"a branch or a tag is called {change.name}")
            self.unchanged.append(Expect(partition, other, None))

    def _add_branch(self, change: BranchChanged, key: bytes) -> None:
        repository, name = self._repository, change.name
        partition, expires_at = repository.partition, 0
        if change.after is None:
            self.writes.append(Write(partition, key, None))
            self._end_workspace(name)
        else:
            branch = self._returned(change.before, change.after, change.discarded)
            self.writes.append(Write(partition, key, references.branch_bytes(branch)))
            expires_at = branch.expires_at
        before = 0 if change.before is None else change.before.expires_at
        self.writes += due_writes(repository, name, before, expires_at)

    def _returned(
        self, current: Branch | None, before: Branch, discarded: tuple[str, ...]
    ) -> Branch:
        """Returns a branch as it was before, with staging areas that are its own again. What was in
        the area that took changes is sealed: an upload that began then must not end in it now. If
        its end is over, it has that which a new branch of its name gets.
        """
        expires_at = before.expires_at
        if 0 < expires_at <= self._now:
            expires_at = self._end_by_rule(before.id)
        if current is not None and current.expires_at == before.expires_at:
            expires_at = current.expires_at
        before = msgspec.structs.replace(before, expires_at=expires_at)
        if current is None:
            token = self._identifiers.staging_token(self._repository.id, before.id)
            return msgspec.structs.replace(before, staging_token=token, sealed_tokens=discarded)
        return msgspec.structs.replace(
            current,
            commit_id=before.commit_id,
            hidden=before.hidden,
            expires_at=expires_at,
            sealed_tokens=(*current.sealed_tokens, *discarded),
        )

    def _end_by_rule(self, name: str) -> int:
        """Returns when a new branch of a name would expire, in seconds since 1970; 0 is never."""
        raw = self._keyvalue.get(self._repository.partition, keys.BRANCH_ENDS)
        rule = None if name == self._repository.default_branch else ends_from(raw).of(name)
        return 0 if rule is None else int(self._now) + rule.seconds


def _reverted(current: Branch, before: Branch, after: Branch) -> Branch:
    """Returns a branch with what a change has changed as before it, and all else as it is. Raises
    Conflict if that is not as the change has left it.
    """
    target = msgspec.structs.replace(current, commit_id=before.commit_id)
    if before.hidden != after.hidden:
        if current.hidden != after.hidden:
            raise changed_since(f"the branch {current.id} was hidden or shown since")
        target = msgspec.structs.replace(target, hidden=before.hidden)
    if before.expires_at != after.expires_at:
        if current.expires_at != after.expires_at:
            raise changed_since(f"the branch {current.id} was given another end since")
        target = msgspec.structs.replace(target, expires_at=before.expires_at)
    return target
