"""Calls of the operation log, and of undo."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.model.page import Page
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
    TagChanged,
)
from anabranch.model.references.tag import Tag
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read

__all__ = [
    "get",
    "give_up",
    "list_page",
    "logged",
    "restore",
    "restore_branch",
    "restore_tag",
    "set_undo_days",
    "undo",
    "undo_days",
]


class _WireChange(msgspec.Struct, frozen=True):
    type: Literal["branch", "tag"]
    name: str
    before: str
    after: str

    def changed(self) -> ReferenceChanged:
        """Returns the change, of which a server tells the commits."""
        if self.type == "branch":
            return BranchChanged(self._branch(self.before), self._branch(self.after))
        return TagChanged(self._tag(self.before), self._tag(self.after))

    def _branch(self, commit_id: str) -> Branch | None:
        if not commit_id:
            return None
        return Branch(id=self.name, commit_id=commit_id, staging_token="")

    def _tag(self, commit_id: str) -> Tag | None:
        return Tag(id=self.name, commit_id=commit_id) if commit_id else None


class _WireSetting(msgspec.Struct, frozen=True):
    kind: str
    name: str
    before: msgspec.Raw
    after: msgspec.Raw

    def changed(self) -> SettingChanged:
        """Returns the change, with records as JSON documents."""
        before, after = (
            None if raw == b"null" else bytes(raw) for raw in (self.before, self.after)
        )
        return SettingChanged(self.kind, self.name, before, after)


class _Wire(msgspec.Struct, frozen=True):
    id: str
    time: float
    user: str
    request_id: str
    action: str
    changes: list[_WireChange]
    settings: list[_WireSetting] = []
    workspace: str = ""
    undone_at: float = 0
    given_up_at: float = 0

    def logged(self) -> LoggedOperation:
        """Returns the operation."""
        return LoggedOperation(
            id=self.id,
            time=self.time,
            user=self.user,
            request_id=self.request_id,
            action=self.action,
            changes=tuple(each.changed() for each in self.changes),
            settings=tuple(each.changed() for each in self.settings),
            workspace=self.workspace,
            undone_at=self.undone_at,
            given_up_at=self.given_up_at,
        )


class _Days(msgspec.Struct, frozen=True):
    undo_days: int


_ONE = msgspec.json.Decoder(_Wire)
_PAGE = msgspec.json.Decoder(WirePage[_Wire])
_DAYS = msgspec.json.Decoder(_Days)


def list_page(repository: str, *, after: str = "", amount: int) -> Call[Page[LoggedOperation]]:
    """Returns a page of operations, the newest first: of those before `after`, or of all."""
    return Listing(read(["repositories", repository, "operations"], after=after), _page, amount)


def get(repository: str, operation_id: str) -> Call[LoggedOperation]:
    """Returns an operation by its id, or by the beginning of it. Raises NotFound."""
    return Exchange(read(["repositories", repository, "operations", operation_id]), logged)


def undo(repository: str, operation_id: str = "", *, force: bool = False) -> Call[LoggedOperation]:
    """Undoes an operation, by default the user's last one that is not undone, and returns it."""
    body = {"operation": operation_id, "force": force}
    request = change("POST", ["repositories", repository, "undo"], body)
    return Exchange(request, logged, keyed=True)


def restore_branch(repository: str, name: str, *, force: bool = False) -> Call[LoggedOperation]:
    """Brings a deleted branch back, and returns the operation that had deleted it."""
    return _restoring(["repositories", repository, "branches", name, "restore"], force=force)


def restore_tag(repository: str, name: str, *, force: bool = False) -> Call[LoggedOperation]:
    """Brings a deleted tag back, and returns the operation that had deleted it."""
    return _restoring(["repositories", repository, "tags", name, "restore"], force=force)


def restore(repository: str, operation_id: str, *, force: bool = False) -> Call[LoggedOperation]:
    """Changes all references back to what they were right after an operation, and returns it."""
    place = ["repositories", repository, "operations", operation_id, "restore"]
    return _restoring(place, force=force)


def give_up(repository: str, operation_id: str) -> Call[LoggedOperation]:
    """Gives up what only an operation needs to garbage collection."""
    place = ["repositories", repository, "operations", operation_id, "give_up"]
    return Exchange(change("POST", place), logged)


def undo_days(repository: str) -> Call[int]:
    """Returns for how many days operations can be undone."""
    return Exchange(read(_days_of(repository)), _days)


def set_undo_days(repository: str, days: int | None) -> Call[int]:
    """Sets for how many days operations can be undone; returns the number that holds then."""
    return Exchange(change("PUT", _days_of(repository), {"undo_days": days}), _days)


def _restoring(place: list[str], *, force: bool) -> Call[LoggedOperation]:
    request = change("POST", place, force=force)
    return Exchange(request, logged, keyed=True)


def _days_of(repository: str) -> list[str]:
    return ["repositories", repository, "settings", "undo_days"]


def logged(reply: Reply) -> LoggedOperation:
    """Returns the operation that a reply has."""
    return _ONE.decode(reply.body).logged()


def _page(body: bytes) -> tuple[list[LoggedOperation], Pagination]:
    page = _PAGE.decode(body)
    return [each.logged() for each in page.results], page.pagination


def _days(reply: Reply) -> int:
    return _DAYS.decode(reply.body).undo_days
