"""Schemas of operations of the log, of a repository and of the installation."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.model.references.operation import BranchChanged, LoggedOperation, ReferenceChanged
from anabranch.rest.schemas.setting_changes import SettingChange, to_setting_change

__all__ = ["OperationRecord", "to_operation_record"]


class ReferenceChange(msgspec.Struct, frozen=True):
    """A branch or a tag that an operation has changed: its commits before and after, empty where it
    did not exist. If both are the same, the operation has discarded the branch's staged changes, or
    has shown or hidden it.
    """

    type: Literal["branch", "tag"]
    name: str
    before: str
    after: str


class OperationRecord(msgspec.Struct, frozen=True):
    """An operation: its time in seconds since 1970, the user who made it, the request and the
    operation of the API, which are empty for programs that have opened the stores themselves, the
    workspace whose keys were used, empty for the user's own, and what it changed: branches and
    tags, and settings. `undone_at` is when it was undone, and
    `given_up_at` when it could no longer be undone, in seconds since 1970; 0 if never.
    """

    id: str
    time: float
    user: str
    request_id: str
    action: str
    workspace: str
    changes: list[ReferenceChange]
    settings: list[SettingChange]
    undone_at: float
    given_up_at: float


def to_operation_record(
    operation: LoggedOperation, kind: str = "", name: str = ""
) -> OperationRecord:
    """Returns an operation as the API shows it: with all of its changes, or with those of one
    branch or tag.
    """
    changes = map(_to_change, operation.changes)
    return OperationRecord(
        id=operation.id,
        time=operation.time,
        user=operation.user,
        request_id=operation.request_id,
        action=operation.action,
        workspace=operation.workspace,
        changes=[each for each in changes if not kind or (each.type, each.name) == (kind, name)],
        settings=[] if kind else list(map(to_setting_change, operation.settings)),
        undone_at=operation.undone_at,
        given_up_at=operation.given_up_at,
    )


def _to_change(change: ReferenceChanged) -> ReferenceChange:
    return ReferenceChange(
        type="branch" if isinstance(change, BranchChanged) else "tag",
        name=change.name,
        before="" if change.before is None else change.before.commit_id,
        after="" if change.after is None else change.after.commit_id,
    )
