"""Pull requests when all references are restored: a merge that is taken back is no merge any more,
and nothing stays open without its branches. All else about pull requests is no reference, and stays
as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.page import upper_bound
from anabranch.model.pull_request import PullRequest, PullRequestStatus
from anabranch.model.references.operation import BranchChanged, SettingChanged
from anabranch.versioning.operations.pull_changes import with_state_of
from anabranch.versioning.records import keys
from anabranch.versioning.records.pulls import pull_from

__all__ = ["RestoredPull", "RestoredPulls", "is_of_merge"]

_MERGED = PullRequestStatus.MERGED


def is_of_merge(change: SettingChanged) -> bool:
    """Returns whether a change of a pull request has merged it, or has taken its merge back."""
    records = (change.before, change.after)
    return any(raw is not None and pull_from(raw).status is _MERGED for raw in records)


class RestoredPull(NamedTuple):
    """A pull request that a restore changes, with the record that it has now."""

    record: bytes
    pull: PullRequest


class RestoredPulls:
    """Finds the pull requests of a repository that change with branches. `now` is in seconds since
    1970.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        partition: str,
        changes: Sequence[BranchChanged],
        now: float,
    ) -> None:
        self._keyvalue = keyvalue
        self._partition = partition
        self._stays = {each.name: each.after is not None for each in changes}
        self._now = now

    def after(self, merges: Mapping[str, SettingChanged]) -> Iterator[RestoredPull]:
        """Yields the pull requests that change, given the first change that has merged each of
        them since, or has taken its merge back.
        """
        for raw in self._records(merges):
            current = pull_from(raw)
            restored = self._restored(current, merges.get(current.id))
            if restored != current:
                yield RestoredPull(raw, restored)

    def _records(self, merges: Mapping[str, SettingChanged]) -> Iterator[bytes]:
        if all(self._stays.values()):
            found = self._keyvalue.get_many(self._partition, [keys.pull(each) for each in merges])
            yield from (raw for raw in found if raw is not None)
            return
        stem = keys.pull("")
        for _, raw in self._keyvalue.scan(self._partition, stem, upper_bound(stem)):
            yield raw

    def _restored(self, current: PullRequest, merge: SettingChanged | None) -> PullRequest:
        restored = current
        if merge is not None and merge.before is not None:
            before = pull_from(merge.before)
            if _MERGED in (before.status, current.status):
                restored = with_state_of(current, before)
        if restored.status is not PullRequestStatus.OPEN:
            return restored
        branches = (restored.source, restored.destination)
        if restored is current and all(self._stays.get(each, True) for each in branches):
            return restored
        if all(map(self._exists, branches)):
            return restored
        return msgspec.structs.replace(
            restored,
            status=PullRequestStatus.CLOSED,
            closed_date=datetime.fromtimestamp(self._now, UTC),
        )

    def _exists(self, branch: str) -> bool:
        if branch in self._stays:
            return self._stays[branch]
        return self._keyvalue.get(self._partition, keys.branch(branch)) is not None
