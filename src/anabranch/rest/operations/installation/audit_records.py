"""Records of the audit log, for administrators."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.audit.filter import RecordFilter
from anabranch.audit.reading import read_records
from anabranch.errors import NotFound
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.resources import on_anything

__all__ = ["OPERATIONS"]

_Event = Literal["", "decision", "authentication", "change", "lost", "torn"]
_Time = Annotated[
    str,
    Meta(
        pattern=r"^(\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z)?)?$",
        description="in UTC, `2026-11-23` or `2026-11-23T20:15:02Z`",
    ),
]


class ListAuditRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on records, see `RecordFilter`; `after` is the `next_offset` of a page."""

    user: str = ""
    action: str = ""
    operation: str = ""
    source_ip: str = ""
    request_id: str = ""
    event: _Event = ""
    resource: str = ""
    since: _Time = ""
    until: _Time = ""
    denied: bool = False
    after: str = ""
    amount: Annotated[int, Meta(ge=1, le=1000)] = 100


class AuditRecords(msgspec.Struct, frozen=True):
    """Records, the newest first. With `has_more`, older ones follow at `next_offset`; a page may
    hold fewer than asked for, even none.
    """

    results: list[dict[str, Any]]
    has_more: bool
    next_offset: str


def list_audit_records(call: Call[ListAuditRecords, None]) -> AuditRecords:
    """Returns a page of the audit log in this server's file."""
    path = call.services.audit_file
    if path is None:
        raise NotFound(
            "this server writes no file of an audit log",
            kind="audit_log_not_found",
            hint="The setting audit.file names one.",
        )
    params = call.params
    wanted = RecordFilter(
        **{name: getattr(params, name) for name in RecordFilter.__struct_fields__}
    )
    page = read_records(path, wanted, before=params.after, amount=params.amount)
    return AuditRecords(page.records, bool(page.next_position), page.next_position)


OPERATIONS = (
    Operation(
        id="listAuditRecords",
        tag="auth",
        method="GET",
        path="/audit/records",
        summary="list records of the audit log",
        permission=(Need(Action.READ_AUDIT, on_anything),),
        params=ListAuditRecords,
        response=AuditRecords,
        handler=list_audit_records,
    ),
)
