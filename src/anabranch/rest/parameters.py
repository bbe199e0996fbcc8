"""The parameters of an operation, read off the struct that declares them.

    class GetObject(AtRef, frozen=True, kw_only=True):
        path: ObjectPath                                          # in the query
        range: Annotated[str, HEADER] = field(default="", name="Range")

Where a field's wire name stands in the operation's path it is a path parameter.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

__all__ = [
    "HEADER",
    "Amount",
    "AtBranch",
    "AtRef",
    "InRepository",
    "Int64",
    "Location",
    "ObjectPath",
    "Parameter",
    "Seconds",
    "Size",
    "parameters_of",
]

HEADER = Meta(extra={"in": "header"})
"""Marks a field as a header; its wire name is the header's name."""

ObjectPath = Annotated[str, Meta(min_length=1, description="relative to the ref")]
Amount = Annotated[int, Meta(ge=-1, le=1000, description="how many items to return")]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Size = Annotated[int, Meta(ge=0, le=2**63 - 1, description="in bytes")]
Seconds = Annotated[
    int, Meta(ge=-62135596800, le=253402300799, description="since 1970, in the years 1 to 9999")
]


class Location(Enum):
    """Where a parameter stands."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"


class Parameter(NamedTuple):
    """One parameter: its wire name, its place, its type, and its default if it has one. An empty
    text stands for an absent one where the mark `{"empty": "absent"}` says so.
    """

    name: str
    location: Location
    annotation: Any
    is_list: bool
    required: bool
    default: object
    empty_is_absent: bool


class InRepository(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of everything that lies in a repository."""

    repository: str


class AtBranch(InRepository, frozen=True, kw_only=True):
    """The parameters of everything that lies on a branch."""

    branch: str


class AtRef(InRepository, frozen=True, kw_only=True):
    """The parameters of everything that is read from a reference."""

    ref: str


def parameters_of(struct: Any, path_names: frozenset[str]) -> list[Parameter]:
    """Returns the parameters that a struct declares, none without one. Raises TypeError when one
    of the path's names has no field.
    """
    fields = () if struct is None else msgspec.structs.fields(struct)
    absent = path_names - {field.encode_name for field in fields}
    if absent:
        raise TypeError(f"{struct!r} has no field for {', '.join(sorted(absent))} of the path")
    return [_parameter(field, path_names) for field in fields]


def _parameter(field: msgspec.structs.FieldInfo, path_names: frozenset[str]) -> Parameter:
    marks, is_list = _inspected(msgspec.inspect.type_info(field.type))
    if field.encode_name in path_names:
        location = Location.PATH
    elif marks.get("in") == "header":
        location = Location.HEADER
    else:
        location = Location.QUERY
    return Parameter(
        field.encode_name,
        location,
        field.type,
        is_list,
        field.required,
        field.default,
        empty_is_absent=marks.get("empty") == "absent",
    )


def _inspected(kind: msgspec.inspect.Type) -> tuple[dict[str, Any], bool]:
    """Returns a type's marks, and whether it is a list, looked for in all parts of a union."""
    if isinstance(kind, msgspec.inspect.Metadata):
        marks, is_list = _inspected(kind.type)
        return marks | (kind.extra or {}), is_list
    if isinstance(kind, msgspec.inspect.UnionType):
        parts = [_inspected(part) for part in kind.types]
        merged: dict[str, Any] = {}
        for marks, _ in parts:
            merged |= marks
        return merged, any(is_list for _, is_list in parts)
    return {}, isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType)
