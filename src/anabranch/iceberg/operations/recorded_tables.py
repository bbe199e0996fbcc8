"""What answers a repeated request that has changed a table: where its metadata are."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile
from anabranch.http.response import Response
from anabranch.iceberg.answers import table_response
from anabranch.iceberg.call import Call
from anabranch.model.tables.table_record import TableRecord

__all__ = ["answer_table", "no_content", "record_table", "recorded_metadata"]


class _Recorded(msgspec.Struct, frozen=True):
    area: str
    location: str
    has_keys: bool = True


_recorded = msgspec.json.Decoder(_Recorded)


def record_table(
    call: Call, location: Callable[[], str], area: Area, *, has_keys: bool = True
) -> None:
    """Records with the change of a call which metadata answer it; `location` is called when they
    are stored.
    """
    if call.repetition is not None:
        call.repetition.outcome = lambda: msgspec.json.encode(
            _Recorded(area.id, location(), has_keys)
        )


def answer_table(call: Call, recorded: bytes) -> Response:
    """Returns the response to a repeated request. Raises Denied for a caller who may not read the
    table any more.
    """
    found = _recorded.decode(recorded)
    area, file = _read(call, found)
    return table_response(call, area, area.path, file, has_keys=found.has_keys)


def recorded_metadata(call: Call, recorded: bytes) -> MetadataFile:
    """Returns the metadata that answer a repeated request. Raises as `answer_table`."""
    return _read(call, _recorded.decode(recorded))[1]


def _read(call: Call, found: _Recorded) -> tuple[Area, MetadataFile]:
    tables = call.services.catalog.iceberg.tables
    area = call.services.catalog.table_areas.find_by_address(call.place.repository, found.area)
    call.authorize_at(call.place, area.path, Action.READ_OBJECT)  # as it is now
    record = TableRecord(uuid="", area=area.id, metadata=found.location)
    return area, tables.read_metadata(area, record)


def no_content(_call: Call, _recorded: bytes) -> Response:
    """Returns the response to a repeated request whose first response had no body."""
    return Response(204)
