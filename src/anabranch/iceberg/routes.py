"""The table of operations, and the selection of a request's operation."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations import (
    namespaces,
    registration,
    signing,
    table_commits,
    tables,
    views,
)
from anabranch.iceberg.operations.configuration import configuration

__all__ = ["ALL_OPERATIONS", "SIGN_IN", "UNKNOWN", "find_operation"]

SIGN_IN, UNKNOWN = "iceberg oauth/tokens", "iceberg unknown"
"""What metrics and logs call the request for a token, and one of no operation."""

_PREFIX = "/v1/{prefix}/"

_WITHIN: tuple[Operation, ...] = (
    *namespaces.OPERATIONS,
    *tables.OPERATIONS,
    *table_commits.OPERATIONS,
    *registration.OPERATIONS,
    *signing.OPERATIONS,
    *views.OPERATIONS,
)

ALL_OPERATIONS: tuple[Operation, ...] = (
    configuration(f"{operation.method} {operation.route}" for operation in _WITHIN),
    *_WITHIN,
)
"""Every operation, once, but the request for a token."""


def _template(operation: Operation) -> tuple[str, ...]:
    return tuple(operation.route.removeprefix(_PREFIX).removeprefix("/v1/").split("/"))


_TEMPLATES = [(operation, _template(operation)) for operation in ALL_OPERATIONS]


def find_operation(method: str, parts: Sequence[str]) -> tuple[Operation, dict[str, str]] | None:
    """Returns the operation of a path without its prefix, and the names in the path; None for a
    path, or a method on it, that the catalog does not have.
    """
    for operation, template in _TEMPLATES:
        if operation.method == method and len(template) == len(parts):
            names = _match(template, parts)
            if names is not None:
                return operation, names
    return None


def _match(template: tuple[str, ...], parts: Sequence[str]) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for expected, part in zip(template, parts, strict=True):
        if expected.startswith("{"):
            if not part:
                return None
            names[expected[1:-1]] = part
        elif expected != part:
            return None
    return names
