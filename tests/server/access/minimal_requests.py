"""The smallest valid request of each operation, on names that do not exist.

With the permission, the response says what is missing; without, the request is denied
before. Requests are made from the declarations of the operations, so that new ones are included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from anabranch.rest.protocol.operation import Operation
from anabranch.rest.protocol.parameters import Location, declared_parameters
from anabranch.rest.table import BASE_PATH
from anabranch.s3.headers.copy_source import COPY_SOURCE
from anabranch.s3.operation import Level
from anabranch.s3.operation import Operation as S3Operation

__all__ = ["MinimalRequest", "rest_request", "s3_request"]

REPOSITORY = "absent-lake"
_VALUES = {
    "repository": REPOSITORY,
    "path": "a",
    "storage_namespace": "local://absent-lake",
    "physical_address": "local://absent-lake/data/x",
}


class MinimalRequest(NamedTuple):
    """A request; `path` begins with a slash, `query` is encoded."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


def rest_request(operation: Operation[Any, Any], **names: str) -> MinimalRequest:
    """Returns the request of an operation of the REST API; `names` are values of its parameters."""
    path, query, headers = BASE_PATH + operation.path, {}, {}
    in_path = frozenset(operation.path_names)
    if operation.params is not None:
        fields = {field.encode_name: field for field in _fields(operation.params)}
        for parameter in declared_parameters(operation.params, in_path):
            field = fields[parameter.name]
            if not (field.required or parameter.location is Location.PATH):
                continue
            value = names.get(parameter.name) or _VALUES.get(parameter.name)
            text = str(_minimal(field.type, parameter.name) if value is None else value)
            if parameter.location is Location.PATH:
                path = path.replace(f"{{{parameter.name}}}", text)
            elif parameter.location is Location.HEADER:
                headers[parameter.name] = text
            else:
                query[parameter.name] = text
    for name in in_path:
        path = path.replace(f"{{{name}}}", names.get(name, "absent"))
    body = b""
    if operation.body is not None:
        headers["Content-Type"] = "application/json"
        body = msgspec.json.encode(_minimal(inspect.type_info(operation.body), "", names))
    return MinimalRequest(operation.method, path, query, headers, body)


def s3_request(operation: S3Operation) -> MinimalRequest:
    """Returns the request of an operation of S3."""
    path = {
        Level.SERVICE: "/",
        Level.BUCKET: f"/{REPOSITORY}",
        Level.OBJECT: f"/{REPOSITORY}/main/a",
    }[operation.level]
    query, headers = {}, {}
    for word in (operation.on or "").split():
        if word == COPY_SOURCE:
            headers[word] = f"/{REPOSITORY}/main/b"
        else:
            query[word] = {"list-type": "2", "uploadId": "1", "partNumber": "1"}.get(word, "")
    if "partNumber" in query:
        query["uploadId"] = "1"
    return MinimalRequest(operation.method, path, query, headers, b"")


def _fields(struct: Any) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return info.fields


_SIMPLE: dict[type[inspect.Type], object] = {
    inspect.StrType: "absent",
    inspect.IntType: 1,
    inspect.FloatType: 1,
    inspect.BoolType: False,
    inspect.DictType: {},
    inspect.DateTimeType: "2026-01-01T00:00:00Z",
}


def _minimal(kind: inspect.Type, name: str, names: dict[str, str] | None = None) -> Any:
    """Returns a value of a type, as JSON has it."""
    match kind:
        case inspect.StructType():
            return {
                field.encode_name: _minimal(field.type, field.encode_name, names)
                for field in kind.fields
                if field.required
            }
        case inspect.ListType() | inspect.VarTupleType():
            return [_minimal(kind.item_type, name, names)]
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.EnumType():
            return next(iter(kind.cls)).value
        case inspect.UnionType() | inspect.Metadata():
            inner = kind.type if isinstance(kind, inspect.Metadata) else kind.types[0]
            return _minimal(inner, name, names)
    return (names or {}).get(name) or _VALUES.get(name) or _SIMPLE[type(kind)]
