"""The routes of the API, made once in a process: that takes longer than all else that starts a
gateway.
"""

from __future__ import annotations

import re
from typing import Final

from falcon.routing import CompiledRouter

from anabranch.rest.operations.logins import command_line_login, logout, single_sign_on
from anabranch.rest.operations.objects.presigned_blocks import SIGNED_OPERATIONS
from anabranch.rest.protocol.route import Route
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS

__all__ = ["ALL_OPERATIONS", "ROUTER", "ROUTES"]

_OUTSIDE_BASE_PATH = (
    *SIGNED_OPERATIONS,
    *single_sign_on.PAGES,
    *command_line_login.PAGES,
    *logout.PAGES,
)

ALL_OPERATIONS = (*OPERATIONS, *EXTENSIONS, *_OUTSIDE_BASE_PATH)
"""All operations of the gateway."""

_PARAMETER = re.compile(r"\{(\w+)\}(:\w+)?")


def _by_position(template: str) -> tuple[str, dict[str, str]]:
    """Returns the template with parameters that are named by their position, and the names of the
    API by those. The router requires equal names in all operations on a path; the API does not.
    """
    parts = template.split("/")
    names: dict[str, str] = {}
    for position, part in enumerate(parts):
        match = _PARAMETER.fullmatch(part)
        if match is not None:
            names[f"s{position}"] = match[1]
            parts[position] = f"{{s{position}}}{match[2] or ''}"
    return "/".join(parts), names


def _by_path() -> dict[str, dict[str, Route]]:
    """Returns the routes by the router's template of their path, and by method."""
    by_path: dict[str, dict[str, Route]] = {}
    for operation in ALL_OPERATIONS:
        base = "" if operation in _OUTSIDE_BASE_PATH else BASE_PATH
        path, names = _by_position(base + operation.path)
        by_path.setdefault(path, {})[operation.method] = Route(operation, names)
    return by_path


def _router(by_path: dict[str, dict[str, Route]]) -> CompiledRouter:
    router = CompiledRouter()
    for path, routes in by_path.items():
        router.add_route(path, routes)
    router.find("/")  # compiles it, which several threads must not do at once
    return router


_BY_PATH = _by_path()

ROUTER: Final = _router(_BY_PATH)
"""Finds the routes of a path, by method."""

ROUTES: Final = tuple(route for routes in _BY_PATH.values() for route in routes.values())
"""The routes of all operations."""
