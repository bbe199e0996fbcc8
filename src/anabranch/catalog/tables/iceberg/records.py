"""Records of tables, views and namespaces: small JSON objects on branches.

A record of a table or a view names the area of its files and the file with its metadata. All that
an engine reads follows from there, so a branch, a merge or a revert of the record is one of the
table.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from anabranch.errors import Corrupt

__all__ = [
    "AREAS",
    "NamespaceRecord",
    "TableRecord",
    "area_location",
    "namespace_from",
    "table_from",
]

AREAS = ".tables"
"""What stands in place of a reference in the S3 addresses of areas: no branch begins with a dot."""

_AREA = re.compile(r"[0-9a-f]{32}")


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


class NamespaceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a namespace."""

    properties: dict[str, str] = {}

    def to_bytes(self) -> bytes:
        """Returns the content of the object."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=2) + b"\n"


_tables = msgspec.json.Decoder(TableRecord)
_namespaces = msgspec.json.Decoder(NamespaceRecord)


def area_location(repository: str, area: str) -> str:
    """Returns the S3 address of an area, without a slash at its end."""
    return f"s3://{repository}/{AREAS}/{area}"


def table_from(content: bytes, repository: str, path: str) -> TableRecord:
    """Returns the record in an object. Raises Corrupt unless its metadata are in the area that it
    names: everybody who may write to the path can store other bytes there.
    """
    try:
        record = _tables.decode(content)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path}: not a table's record: {error}", kind="damaged_record") from error
    location = area_location(repository, record.area)
    if not _AREA.fullmatch(record.area) or not record.metadata.startswith(f"{location}/"):
        raise Corrupt(
            f"{path}: its metadata are not in its area",
            kind="damaged_record",
            hint="Restore the record from a commit in which it was right.",
        )
    return record


def namespace_from(content: bytes, path: str) -> NamespaceRecord:
    """Returns the record in an object. Raises Corrupt."""
    try:
        return _namespaces.decode(content)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"{path}: not a namespace: {error}", kind="damaged_record") from error
