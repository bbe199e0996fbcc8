"""Pull requests that undo merges: those whose commits a branch gets back, as by a reset to them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from anabranch.model.references.operation import BranchChanged, SettingChanged
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.logged_records import PULL_REQUEST
from anabranch.versioning.operations.planner import UndoPlan
from anabranch.versioning.records import keys
from anabranch.versioning.records.pulls import pull_from
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["PullsMergedByUndo"]


class PullsMergedByUndo:
    """What a plan of undo or restore merges by the branches that it moves, beside what the plan
    itself changes.

    A pull request that was open with the same source when the branch was as it will be stays open:
    there was nothing to merge then.
    """

    def __init__(self, core: Core, repository: Repository, plan: UndoPlan) -> None:
        self._core = core
        self._repository = repository
        self._plan = plan

    def writes_for(self, change: BranchChanged, /) -> ExtraWrites:
        """Returns the writes of `MergedPulls.record` for the move of a branch."""
        if change.before is None or change.after is None:
            return (), ()
        commit_id = change.after.commit_id
        moved = {
            each.name: "" if each.after is None else each.after.commit_id
            for each in self._plan.changes
            if isinstance(each, BranchChanged)
        }
        planned = {each.name for each in self._plan.settings if each.kind == PULL_REQUEST}
        return self._core.merged_pulls.record(
            *(self._repository, change.name, change.before.commit_id, [commit_id], commit_id),
            except_ids=planned.union(self._open_then(change.name, moved)),
            moved=moved,
        )

    def _open_then(self, destination: str, moved: dict[str, str]) -> Iterator[str]:
        """Yields the open pull requests into a branch that were open then, with the source that
        they will have.
        """
        pulls = [each.pull for each in self._core.pulls.open_into(self._repository, destination)]
        if not pulls:
            return
        heads = self._core.branches.heads(self._repository, {each.source for each in pulls}) | moved
        then = {
            each.name: "" if each.before is None else each.before.commit_id
            for each in self._plan.undone
            if isinstance(each, BranchChanged)
        }
        log, at = self._core.operation_log, self._plan.operation.id
        for pull in pulls:
            if pull.id in self._changed_since:
                continue
            if pull.source not in then:
                then[pull.source] = log.commit_at(self._repository, keys.branch(pull.source), at)
            if then[pull.source] == heads.get(pull.source, ""):
                yield pull.id

    @cached_property
    def _changed_since(self) -> frozenset[str]:
        """The pull requests that were created, closed, merged or opened again since: the log is
        read once for all branches.
        """
        log = self._core.operation_log.since(self._repository, self._plan.operation.id)
        return frozenset(
            each.name
            for stored in log
            for each in stored.operation.settings
            if each.kind == PULL_REQUEST and _is_of_state(each)
        )


def _is_of_state(change: SettingChanged) -> bool:
    if change.before is None or change.after is None:
        return True
    return pull_from(change.before).status is not pull_from(change.after).status
