"""registerTable: an existing table becomes one of the catalog, by the address of its metadata;
unregisterTable: a table leaves the catalog, and its files stay for another one.

The metadata that are registered are copied into an area, and new files are stored there too. Files
that they name remain where they are: engines read them with keys of the user.
"""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission, object_arn
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.catalog.tables.iceberg.identifiers import Identifier, record_path
from anabranch.catalog.tables.iceberg.locations import PLACES
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.errors import Invalid, NotSupported
from anabranch.http.response import Response
from anabranch.iceberg.answers import table_response
from anabranch.iceberg.call import Call
from anabranch.iceberg.error_responses import JSON
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.recorded_tables import (
    answer_table,
    record_table,
    recorded_metadata,
)
from anabranch.iceberg.operations.tables import find_table, writing_properties
from anabranch.model.tables.table_area import AREAS, Origin
from anabranch.tables.iceberg.commits.updates import apply_updates

__all__ = ["OPERATIONS"]


class _Registration(msgspec.Struct, rename="kebab"):
    name: str
    metadata_location: str
    overwrite: bool = False


class _Source(msgspec.Struct, frozen=True):
    """Metadata to register; `area` is theirs if they are in one, else `origin` the object."""

    metadata: dict[str, Any]
    area: Area | None
    origin: Origin | None = None


_registration = msgspec.json.Decoder(_Registration)


def register_table(call: Call) -> Response:
    """Registers a table."""
    body, place = call.body(_registration), call.place
    if body.overwrite:
        raise NotSupported(
            "a table is not overwritten by registering", hint="Drop the table first."
        )
    tables = call.services.catalog.iceberg.tables
    identifier = Identifier(call.namespace, body.name)
    tables.require_free(place, identifier)
    source = _read(call, place, body.metadata_location)
    area = source.area or tables.new_area(place, identifier, origin=source.origin)
    metadata = _moved(call, source, area, body.metadata_location)
    properties = [metadata.get("properties") or {}]
    writing = call.writing(
        place, [*properties, call.namespace_properties(place, identifier.namespace)]
    )
    registered = area.registered
    file = tables.store(area, metadata, body.metadata_location)
    new = tables.new_record(area, metadata, file, registered=registered)
    record_table(call, lambda: file.location, area, has_keys=not registered)
    tables.create(place, identifier, new, writing, verb="register")
    return table_response(
        *(call, area, record_path(identifier), file),
        has_keys=not registered,
    )


def unregister_table(call: Call) -> Response:
    """Removes a table from its branch, and returns the metadata that it had then."""
    found = find_table(call, Action.READ_OBJECT, Action.DELETE_OBJECT)
    place, tables = call.place, call.services.catalog.iceberg.tables
    tables.metadata(found)  # it is registered again by its metadata
    writing = call.writing(place, writing_properties(call, found, place))
    removal = tables.begin_removal(found)
    record_table(call, lambda: removal.removed.record.metadata, found.area, has_keys=False)
    tables.unregister(place, removal, writing)
    return _last_metadata(tables.metadata(removal.removed))


def _answer_unregistered(call: Call, recorded: bytes) -> Response:
    return _last_metadata(recorded_metadata(call, recorded))


def _last_metadata(file: MetadataFile) -> Response:
    location = msgspec.json.encode(file.location)
    body = b'{"metadata-location":%b,"metadata":%b}' % (location, file.content)
    return Response(200, body, content_type=JSON)


def _moved(call: Call, source: _Source, area: Area, location: str) -> dict[str, Any]:
    """Returns metadata by which new files are stored in an area."""
    updates: list[dict[str, Any]] = [{"action": "set-location", "location": area.location}]
    placed = [name for name in source.metadata.get("properties") or {} if name in PLACES]
    if placed:
        updates.append({"action": "remove-properties", "removals": placed})
    now = int(call.services.clock() * 1000)
    return dict(apply_updates(source.metadata, updates, now, metadata_location=location))


def _read(call: Call, place: Place, location: str) -> _Source:
    """Returns the metadata at an address. Raises Invalid for one outside of the repository,
    NotFound, and Denied for what the caller may not read.
    """
    root = f"s3://{place.repository}/"
    scheme, separator, rest = location.partition("://")
    if separator and scheme in {"s3a", "s3n", "lakefs"}:
        location = f"s3://{rest}"
    reference, _, path = location.removeprefix(root).partition("/")
    if (
        not location.startswith(root)
        or not path
        or any(part in {"", ".", ".."} for part in path.split("/"))
    ):
        raise Invalid(
            f"{location!r:.200} is no metadata file of this repository",
            kind="foreign_location",
            hint=f"Name one such as {root}main/tables/trips/metadata/v3.metadata.json.",
        )
    tables = call.services.catalog.iceberg.tables
    if reference == AREAS:
        area_id, _, file = path.partition("/")
        area = call.services.catalog.table_areas.find_by_address(place.repository, area_id)
        call.authorize_at(place, area.path, Action.READ_OBJECT, Action.WRITE_OBJECT)
        return _Source(tables.read_area_file(area, file), area)
    resource = object_arn(place.repository, path)
    authorize(call.actor, [Permission(Action.READ_OBJECT, resource)])
    metadata, origin = tables.read_registered(place, reference, path)
    return _Source(metadata, area=None, origin=origin)


def _to_register(call: Call) -> list[Permission]:
    return [call.creating(record_path(Identifier(call.namespace, call.body(_registration).name)))]


OPERATIONS = (
    Operation(
        id="iceberg registerTable",
        method="POST",
        route="/v1/{prefix}/namespaces/{namespace}/register",
        needs=_to_register,
        handler=register_table,
        answer=answer_table,
    ),
    Operation(
        id="iceberg unregisterTable",
        method="POST",
        route="/v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister",
        needs=lambda call: [
            call.on_table(Action.READ_OBJECT),
            call.on_table(Action.DELETE_OBJECT),
        ],
        handler=unregister_table,
        answer=_answer_unregistered,
    ),
)
