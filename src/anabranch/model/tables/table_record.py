"""Records of tables and views of the Iceberg catalog: small JSON objects on branches.

A record of a table or a view names the area of its files and the file with its metadata. All that
an engine reads follows from there, so a branch, a merge or a revert of the record is one of the
table.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.errors import Corrupt
from anabranch.model.tables.table_area import AREA_ID, area_location

__all__ = ["NAMESPACE_FILE", "RECORDS_ROOT", "TABLE_FILE", "VIEW_FILE"]
__all__ += ["TableRecord", "is_record_below", "is_record_path", "is_table_record", "table_from"]

RECORDS_ROOT = "_tables/"
"""The prefix of all records."""

TABLE_FILE, VIEW_FILE, NAMESPACE_FILE = "table.json", "view.json", "namespace.json"
"""The names of the records of a table, a view and a namespace, in the folder that has its name."""


class TableRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a table or a view: the id of its area, the S3 address of its metadata, and
    whether it was `registered`, so that its files may be elsewhere too.
    """

    format: Literal["iceberg"] = "iceberg"
    uuid: str
    area: str
    metadata: str
    registered: bool = False

    def to_bytes(self) -> bytes:
        """Returns the content of the object."""
        fields = {
            "format": self.format,
            "uuid": self.uuid,
            "area": self.area,
            "metadata": self.metadata,
            **({"registered": True} if self.registered else {}),
        }
        return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def is_record_path(path: str) -> bool:
    """Returns whether a path is that of the record of a table or a view."""
    return path.startswith(RECORDS_ROOT) and path.rpartition("/")[2] in {TABLE_FILE, VIEW_FILE}


def is_record_below(path: str) -> bool:
    """Returns whether a path is that of a record of a table or a view below any prefix, as an image
    may have those of a repository.
    """
    return is_record_path(path[max(path.find(RECORDS_ROOT), 0) :])


def is_table_record(path: str) -> bool:
    """Returns whether a path is that of the record of a table, and of no view."""
    return path.startswith(RECORDS_ROOT) and path.endswith(f"/{TABLE_FILE}")


_tables = msgspec.json.Decoder(TableRecord)


def table_from(content: bytes, repository: str, path: str) -> TableRecord:
    """Returns the record in an object. Raises Corrupt unless its metadata are in the area that it
    names: everybody who may write to the path can store other bytes there.
    """
    try:
        record = _tables.decode(content)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path}: not a table's record: {error}", kind="damaged_record") from error
    location = area_location(repository, record.area)
    if not AREA_ID.fullmatch(record.area) or not record.metadata.startswith(f"{location}/"):
        raise Corrupt(
            f"{path}: its metadata are not in its area",
            kind="damaged_record",
            hint="Restore the record from a commit in which it was right.",
        )
    return record
