"""The types of request bodies, and the error of a field that they do not have.

An unknown field is an error everywhere: a mistyped `dry_run` or `read_only` would otherwise change
what it was to protect. Fields that clients of lakeFS send and that have no effect are declared as
`Ignored`, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from anabranch.errors.did_you_mean import closest

__all__ = ["Body", "Ignored", "UnknownFields"]

Ignored = Annotated[object, Meta(description="accepted from clients of lakeFS, without effect")]

_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `([^`]*)`)?", re.DOTALL)
_STEP = re.compile(r"\[([^\]]*)\]|\.([^.\[]+)")
_MAX_NAME_CHARACTERS = 100


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A JSON object in the body of a request."""


class UnknownFields:
    """Describes the unknown fields of bodies of one type.

    Raises TypeError for a type with an object that would accept them.
    """

    def __init__(self, type_: Any) -> None:
        self._type = msgspec.inspect.type_info(type_)
        for struct in _structs(self._type, set()):
            if not struct.__struct_config__.forbid_unknown_fields:
                raise TypeError(f"{struct.__name__} accepts unknown fields: make it a Body")

    def describe(self, message: str) -> tuple[str, str, str] | None:
        """Returns the path of an unknown field, the reason and a hint, for an error of msgspec;
        None for other errors.
        """
        match = _UNKNOWN.fullmatch(message)
        if match is None:
            return None
        name, path = match[1], match[2] or "$"
        shown = name[:_MAX_NAME_CHARACTERS]
        known = self._names_at(path)
        hint = closest(shown, known) or f"The fields are {', '.join(known)}."
        return f"{path}.{shown}", f'property "{shown}" is unsupported', hint

    def _names_at(self, path: str) -> list[str]:
        """Returns the names of the fields of the object at a path of msgspec."""
        types = list(_alternatives(self._type))
        for step in _STEP.finditer(path.removeprefix("$")):
            inner = (_step_into(type_, step[2]) for type_ in types)
            types = [part for type_ in inner if type_ is not None for part in _alternatives(type_)]
        structs = (type_ for type_ in types if isinstance(type_, msgspec.inspect.StructType))
        names = (field.encode_name for struct in structs for field in struct.fields)
        return list(dict.fromkeys(names))


def _step_into(type_: msgspec.inspect.Type, field_name: str | None) -> msgspec.inspect.Type | None:
    """Returns the type of a field, or of the items if the name is None."""
    if isinstance(type_, msgspec.inspect.StructType):
        found = (field.type for field in type_.fields if field.encode_name == field_name)
        return next(found, None)
    return _item_type(type_) if field_name is None else None


def _alternatives(type_: msgspec.inspect.Type) -> Iterator[msgspec.inspect.Type]:
    """Yields the members of a union, or the type itself, without metadata."""
    if isinstance(type_, msgspec.inspect.Metadata):
        yield from _alternatives(type_.type)
    elif isinstance(type_, msgspec.inspect.UnionType):
        for part in type_.types:
            yield from _alternatives(part)
    else:
        yield type_


def _item_type(type_: msgspec.inspect.Type) -> msgspec.inspect.Type | None:
    """Returns the type of the items of a list or of the values of a map, None for others."""
    if isinstance(type_, msgspec.inspect.DictType):
        return type_.value_type
    if isinstance(type_, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
        return type_.item_type
    return None


def _structs(type_: msgspec.inspect.Type, visited: set[type]) -> Iterator[Any]:
    """Yields all struct types of which values of a type consist."""
    for part in _alternatives(type_):
        item = _item_type(part)
        if item is not None:
            yield from _structs(item, visited)
        if isinstance(part, msgspec.inspect.StructType) and part.cls not in visited:
            visited.add(part.cls)
            yield part.cls
            for field in part.fields:
                yield from _structs(field.type, visited)
