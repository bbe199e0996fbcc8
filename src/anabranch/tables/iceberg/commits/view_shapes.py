"""The forms that the parts of a view's metadata have.

Source: the Iceberg view specification.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from anabranch.converter import Converter
from anabranch.tables.iceberg.commits.shapes import Int32, Int64, SchemaShape

__all__ = ["VIEW", "VIEW_REQUEST", "VIEW_VERSION", "ViewVersion"]


class _Representation(msgspec.Struct, rename="kebab"):
    type: Literal["sql"]
    sql: str
    dialect: Annotated[str, Meta(min_length=1)]


class ViewVersion(msgspec.Struct, rename="kebab"):
    """A version of a view: its definition in one or more dialects of SQL."""

    version_id: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    timestamp_ms: Int64
    schema_id: Int32
    summary: dict[str, str]
    representations: Annotated[list[_Representation], Meta(min_length=1)]
    default_namespace: list[str]
    default_catalog: str | None = None

    def dialects(self) -> list[str]:
        """Returns the dialects of the version, in lower case."""
        return [each.dialect.lower() for each in self.representations]


class _LogEntry(msgspec.Struct, rename="kebab"):
    version_id: Int32
    timestamp_ms: Int64


class _View(msgspec.Struct, rename="kebab"):
    """The metadata of a view."""

    view_uuid: Annotated[str, Meta(min_length=1)]
    format_version: Literal[1]
    location: Annotated[str, Meta(min_length=1)]
    current_version_id: Int32
    versions: list[ViewVersion]
    version_log: list[_LogEntry]
    schemas: list[SchemaShape]
    properties: dict[str, str] | None = None


class _ViewRequest(msgspec.Struct, rename="kebab"):
    """A request of the operation createView, as far as it describes the view."""

    schema: dict[str, Any]
    view_version: dict[str, Any]
    properties: dict[str, str] | None = None


VIEW = Converter(_View)
VIEW_VERSION = Converter(ViewVersion)
VIEW_REQUEST = Converter(_ViewRequest)
