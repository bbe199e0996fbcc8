"""Reviewers who are asked again when an operation is undone: as when a request asks them."""

from __future__ import annotations

import msgspec

from anabranch.catalog.reviewer_names import ReviewerNames
from anabranch.keyvalue.contract import Write
from anabranch.model.references.operation import LoggedOperation, SettingChanged
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.logged_records import PULL_REQUEST
from anabranch.versioning.pulls import occurrences
from anabranch.versioning.records.pulls import pull_from
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["AdmitReviewers"]


class AdmitReviewers(msgspec.Struct, frozen=True):
    """The condition that reviewers who return can be asked, and the notifications that they are."""

    core: Core
    repository: Repository
    names: ReviewerNames

    def writes_for(self, operation: LoggedOperation, /) -> ExtraWrites:
        """Returns the notifications, with the undo of an operation. Raises Invalid for reviewers
        whom the names refuse.
        """
        changes = [each for each in operation.settings if each.kind == PULL_REQUEST]
        return [write for each in changes for write in self._asked(each)], ()

    def _asked(self, change: SettingChanged) -> list[Write]:
        if change.before is None or change.after is None:
            return []
        asked = pull_from(change.after).reviewers
        returning = [each for each in pull_from(change.before).reviewers if each not in asked]
        if not returning:
            return []
        for reviewer in returning:
            self.names.require(self.repository.id, reviewer)
        pull = self.core.pulls.read(self.repository, change.name).pull
        asked_again = occurrences.review_requested(pull, returning)
        return self.core.outbox.writes(self.repository, asked_again)
