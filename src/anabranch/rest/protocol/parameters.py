"""The parameters of an operation, derived from the struct that declares them.

    class GetObject(AtRef, frozen=True, kw_only=True):
        path: ObjectPath                                          # in the query
        range: Annotated[str, HEADER] = field(default="", name="Range")

A field whose wire name is in the operation's path is a path parameter.
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
    "AtPull",
    "AtRef",
    "InRepository",
    "Int64",
    "Location",
    "ObjectPath",
    "Parameter",
    "Seconds",
    "Size",
    "declared_parameters",
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
    """The location of a parameter."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"


class Parameter(NamedTuple):
    """A parameter: its wire name, location and type, and its default if it has one. With the mark
    `{"empty": "absent"}` an empty value counts as absent.
    """

    name: str
    location: Location
    annotation: Any
    is_list: bool
    required: bool
    default: object
    empty_is_absent: bool


class InRepository(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of operations on a repository."""

    repository: str


class AtBranch(InRepository, frozen=True, kw_only=True):
    """Parameters of operations on a branch."""

    branch: str


class AtRef(InRepository, frozen=True, kw_only=True):
    """Parameters of operations on a reference."""

    ref: str


class AtPull(InRepository, frozen=True, kw_only=True):
    """Parameters of operations on a pull request."""

    pull_request: str


def declared_parameters(struct: Any, path_names: frozenset[str]) -> list[Parameter]:
    """Returns the parameters that a struct declares, none for None. Raises TypeError if a name in
    the path has no field.
    """
    fields = () if struct is None else msgspec.structs.fields(struct)
    absent = path_names - {field.encode_name for field in fields}
    if absent:
        raise TypeError(f"{struct!r} has no field for {', '.join(sorted(absent))} of the path")
    return [_parameter(field, path_names) for field in fields]


def _parameter(field: msgspec.structs.FieldInfo, path_names: frozenset[str]) -> Parameter:
    marks, is_list = _inspect_type(msgspec.inspect.type_info(field.type))
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


def _inspect_type(type_info: msgspec.inspect.Type) -> tuple[dict[str, Any], bool]:
    """Returns the marks of a type, and whether it is a list, including all members of unions."""
    if isinstance(type_info, msgspec.inspect.Metadata):
        marks, is_list = _inspect_type(type_info.type)
        return marks | (type_info.extra or {}), is_list
    if isinstance(type_info, msgspec.inspect.UnionType):
        parts = [_inspect_type(part) for part in type_info.types]
        merged: dict[str, Any] = {}
        for marks, _ in parts:
            merged |= marks
        return merged, any(is_list for _, is_list in parts)
    return {}, isinstance(type_info, msgspec.inspect.ListType | msgspec.inspect.VarTupleType)
