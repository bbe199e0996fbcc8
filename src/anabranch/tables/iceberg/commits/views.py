"""The metadata of a new view, the requirements and the updates of a commit to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.encoded_metadata import check_depth
from anabranch.tables.iceberg.commits.forms import INT32, NAMES, NUMBER, TEXT, TEXTS
from anabranch.tables.iceberg.commits.refusals import changed_meanwhile, checked
from anabranch.tables.iceberg.commits.shapes import Int32
from anabranch.tables.iceberg.commits.update_fields import apply_all, field_of, object_of
from anabranch.tables.iceberg.commits.view_draft import ViewDraft
from anabranch.tables.iceberg.commits.view_shapes import VIEW, VIEW_REQUEST

__all__ = ["apply_view_updates", "check_view_requirements", "new_view_metadata"]

_Object = dict[str, Any]
_Change = Callable[[ViewDraft, Mapping[str, Any]], None]


class _ViewUuid(msgspec.Struct, tag_field="type", tag="assert-view-uuid"):
    uuid: str


_REQUIREMENTS = Converter(list[_ViewUuid])


def new_view_metadata(
    create_request: Mapping[str, Any], *, location: str, uuid: str, now_ms: int
) -> dict[str, Any]:
    """Returns the metadata of the view that a request of the operation createView describes, at an
    address, made at `now_ms`, in milliseconds since 1970. Raises Invalid for a request that is
    malformed or describes no view.
    """
    check_depth(create_request, "the request")
    request = checked(create_request, VIEW_REQUEST, "the request")
    draft = ViewDraft.empty(now_ms)
    draft.assign_uuid(uuid)
    draft.set_location(location)
    draft.set_properties(request.properties or {})
    draft.add_schema(request.schema)
    draft.add_version({**request.view_version, "schema-id": -1})
    draft.choose(-1)
    return draft.finish()


def check_view_requirements(
    metadata: Mapping[str, Any] | None, requirements: Sequence[Mapping[str, Any]]
) -> None:
    """Raises Conflict of the kind `table_changed` if a requirement does not hold for the metadata
    of a view, None if it does not exist; Invalid for a requirement that is malformed or not known.
    """
    known = None if metadata is None else checked(metadata, VIEW, "view metadata").view_uuid
    for each in checked(requirements, _REQUIREMENTS, "requirements"):
        if known is None:
            raise changed_meanwhile("the view does not exist")
        if each.uuid.lower() != known.lower():
            raise changed_meanwhile(
                f"the view-uuid is {known}, the commit was made for {each.uuid}"
            )


def apply_view_updates(
    metadata: Mapping[str, Any] | None, updates: Sequence[Mapping[str, Any]], now_ms: int
) -> Mapping[str, Any]:
    """Returns the metadata of a view after the updates of a commit, which is made at `now_ms`, in
    milliseconds since 1970; the given metadata themselves if the updates change nothing. None
    stands for a view that the commit creates. Raises Invalid for an update that is malformed, not
    known or impossible.
    """
    check_depth(updates, "updates")
    draft = ViewDraft.empty(now_ms) if metadata is None else ViewDraft.of(metadata, now_ms)
    apply_all(draft, updates, _CHANGES)
    if metadata is not None and not draft.changes_something:
        return metadata
    return draft.finish()


_INT32: Any = Int32
_TEXTS: Any = dict[str, str]
_NAMES: Any = list[str]

_CHANGES: Mapping[str, _Change] = {
    "assign-uuid": lambda draft, update: draft.assign_uuid(field_of(update, "uuid", TEXT)),
    "upgrade-format-version": lambda draft, update: draft.upgrade(
        field_of(update, "format-version", NUMBER)
    ),
    "add-schema": lambda draft, update: draft.add_schema(object_of(update, "schema")),
    "set-location": lambda draft, update: draft.set_location(field_of(update, "location", TEXT)),
    "set-properties": lambda draft, update: draft.set_properties(
        field_of(update, "updates", TEXTS)
    ),
    "remove-properties": lambda draft, update: draft.remove_properties(
        field_of(update, "removals", NAMES)
    ),
    "add-view-version": lambda draft, update: draft.add_version(object_of(update, "view-version")),
    "set-current-view-version": lambda draft, update: draft.choose(
        field_of(update, "view-version-id", INT32)
    ),
}
