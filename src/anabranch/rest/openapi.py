"""The OpenAPI document, generated from the table of operations."""

from __future__ import annotations

import http
from collections.abc import Iterable
from typing import Any

import msgspec

from anabranch.http.execution import BodyKind
from anabranch.rest.protocol.errors import Error
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.protocol.parameters import Location, Parameter, declared_parameters
from anabranch.rest.table import BASE_PATH

__all__ = ["openapi"]

_REFERENCES = "#/components/schemas/{name}"
_JSON = "application/json"
_SECURITY: list[dict[str, list[str]]] = [{"basic_auth": []}, {"jwt_token": []}, {"cookie_auth": []}]

Json = dict[str, Any]

_BINARY: Json = {"type": "string", "format": "binary"}


def openapi(operations: Iterable[Operation[Any, Any]]) -> Json:
    """Returns the document (OpenAPI 3.1), with the operations under the API's base path."""
    operations = list(operations)
    types = _types(operations)
    references, components = msgspec.json.schema_components(types, ref_template=_REFERENCES)
    schemas = {id(type_): schema for type_, schema in zip(types, references, strict=True)}
    paths: dict[str, Json] = {}
    for operation in operations:
        document = _operation(operation, schemas)
        paths.setdefault(operation.path, {})[operation.method.lower()] = document
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Anabranch",
            "description": "Git for data lakes, by lakeFS's HTTP API.",
            "version": "1.0.0",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": BASE_PATH}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "basic_auth": {"type": "http", "scheme": "basic"},
                "jwt_token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "cookie_auth": {"type": "apiKey", "in": "cookie", "name": "internal_auth_session"},
            },
            "responses": {
                "Error": {
                    "description": "An error",
                    "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
            },
        },
    }


def _types(operations: Iterable[Operation[Any, Any]]) -> list[Any]:
    types: list[Any] = [Error]
    for operation in operations:
        types += [operation.body, operation.response]
        types += [response.type for response in operation.others]
        contents = (content["schema"] for content in (operation.content or {}).values())
        types += [schema for schema in contents if not isinstance(schema, dict)]
    return [type_ for type_ in types if type_ is not None and type_ is not bytes]


def _operation(operation: Operation[Any, Any], schemas: dict[int, Json]) -> Json:
    document: Json = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "security": [] if operation.permission is Access.NO_AUTH else _SECURITY,
        "responses": _responses(operation, schemas),
    }
    if isinstance(operation.permission, tuple):
        document["x-permissions"] = [str(need.action) for need in operation.permission]
    parameters = _parameters(operation)
    if parameters:
        document["parameters"] = parameters
    if operation.body_kind is BodyKind.WHOLE:
        document["requestBody"] = {
            "required": not operation.body_optional,
            "content": {_JSON: {"schema": schemas[id(operation.body)]}},
        }
    elif operation.body_kind is BodyKind.STREAM:
        document["requestBody"] = {"content": _content(operation, schemas)}
    return document


def _content(operation: Operation[Any, Any], schemas: dict[int, Json]) -> Json:
    """Returns what a stream may be, by media type: an upload, unless it is declared."""
    if operation.content is None:
        return _UPLOADS
    return {
        media_type: {"schema": schemas.get(id(content["schema"]), content["schema"])}
        for media_type, content in operation.content.items()
    }


_UPLOADS: Json = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "properties": {
                "content": {
                    "type": "string",
                    "format": "binary",
                    "description": 'Only a single file per upload which must be named "content".',
                }
            },
            "required": ["content"],
        }
    },
    "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
}


def _parameters(operation: Operation[Any, Any]) -> list[Json]:
    return [
        _parameter(parameter)
        for parameter in declared_parameters(operation.params, frozenset(operation.path_names))
    ]


def _parameter(parameter: Parameter) -> Json:
    schema = msgspec.json.schema(parameter.annotation)
    description = schema.pop("description", None)
    if isinstance(parameter.default, str | int) and parameter.default != "":
        schema["default"] = parameter.default
    document: Json = {
        "in": parameter.location.value,
        "name": parameter.name,
        "required": parameter.required or parameter.location is Location.PATH,
        "schema": schema,
    }
    if description is not None:
        document["description"] = description
    return document


def _responses(operation: Operation[Any, Any], schemas: dict[int, Json]) -> Json:
    responses: Json = {}
    if operation.handler is not None:
        responses[str(operation.status)] = _response(
            http.HTTPStatus(operation.status).phrase,
            operation.response,
            operation.media_type,
            schemas,
        )
    for media_type in operation.files:
        responses[str(operation.status)]["content"][media_type] = {"schema": _BINARY}
    for other in operation.others:
        responses[str(other.status)] = _response(
            other.description, other.type, other.media_type, schemas
        )
    if operation.method == "HEAD":
        responses["default"] = {"description": "An error"}
        return responses
    responses["default"] = {"$ref": "#/components/responses/Error"}
    return responses


def _response(description: str, type_: Any, media_type: str, schemas: dict[int, Json]) -> Json:
    if type_ is None:
        return {"description": description}
    schema = _BINARY if type_ is bytes else schemas[id(type_)]
    return {"description": description, "content": {media_type: {"schema": schema}}}
