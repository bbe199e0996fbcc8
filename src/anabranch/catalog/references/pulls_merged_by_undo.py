"""Pull requests that undo merges: those whose commits a branch gets back, as by a reset to them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from anabranch.model.references.operation import BranchChanged, SettingChanged
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.logged_records import PULL_REQUEST
from anabranch.versioning.operations.planner import UndoPlan
from anabranch.versioning.records import keys
from anabranch.versioning.records.pulls import pull_from
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["PullsMergedByUndo"]


class PullsMergedByUndo(msgspec.Struct, frozen=True):
    """What a plan of undo or restore merges by the branches that it moves, beside what the plan
    itself changes.

    A pull request that was open with the same source when the branch was as it will be stays open:
    there was nothing to merge then.
    """

    core: Core
    repository: Repository
    plan: UndoPlan

    def writes_for(self, change: BranchChanged, /) -> ExtraWrites:
        """Returns the writes of `MergedPulls.record` for the move of a branch."""
        if change.before is None or change.after is None:
            return (), ()
        commit_id = change.after.commit_id
        moved = {
            each.name: "" if each.after is None else each.after.commit_id
            for each in self.plan.changes
            if isinstance(each, BranchChanged)
        }
        planned = {each.name for each in self.plan.settings if each.kind == PULL_REQUEST}
        return self.core.merged_pulls.record(
            *(self.repository, change.name, change.before.commit_id, [commit_id], commit_id),
            except_ids=planned.union(self._open_then(change.name, moved)),
            moved=moved,
        )

    def _open_then(self, destination: str, moved: dict[str, str]) -> Iterator[str]:
        """Yields the open pull requests into a branch that were open then, with the source that
        they will have.
        """
        pulls = [each.pull for each in self.core.pulls.open_into(self.repository, destination)]
        if not pulls:
            return
        changed = set(self._changed_since())
        heads = self.core.branches.heads(self.repository, {each.source for each in pulls}) | moved
        then = {
            each.name: "" if each.before is None else each.before.commit_id
            for each in self.plan.undone
            if isinstance(each, BranchChanged)
        }
        log, at = self.core.operation_log, self.plan.operation.id
        for pull in pulls:
            if pull.id in changed:
                continue
            if pull.source not in then:
                then[pull.source] = log.commit_at(self.repository, keys.branch(pull.source), at)
            if then[pull.source] == heads.get(pull.source, ""):
                yield pull.id

    def _changed_since(self) -> Iterator[str]:
        """Yields the pull requests that were created, closed, merged or opened again since."""
        for stored in self.core.operation_log.since(self.repository, self.plan.operation.id):
            for each in stored.operation.settings:
                if each.kind == PULL_REQUEST and _is_of_state(each):
                    yield each.name


def _is_of_state(change: SettingChanged) -> bool:
    if change.before is None or change.after is None:
        return True
    return pull_from(change.before).status is not pull_from(change.after).status
