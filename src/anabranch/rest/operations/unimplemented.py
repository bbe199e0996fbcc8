"""Operations that are not implemented, or that lakeFS too leaves to other services.

They are in the table of operations: their paths are routed, their permissions are checked, and they
respond with 501. To implement one, remove its row and declare it in the module of its noun.

A section begins with a tag, a path and the resource of the permissions; each row has an id, a
method, the rest of the path (`-` for none) and the action (`-` without authentication).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from anabranch.access.permissions import Action
from anabranch.rest.protocol import resources
from anabranch.rest.protocol.operation import Access, Method, Need, Operation

__all__ = ["OPERATIONS"]

_TABLE = """
actions /repositories/{repository}/actions/runs repository
    listRepositoryRuns    GET    -                                     ci:ReadAction
    getRun                GET    /{run_id}                             ci:ReadAction
    listRunHooks          GET    /{run_id}/hooks                       ci:ReadAction
    getRunHookOutput      GET    /{run_id}/hooks/{hook_run_id}/output  ci:ReadAction
"""


def _operations() -> Iterator[Operation[Any, Any]]:
    tag = base = resource = ""
    cells = iter(_TABLE.split())
    for word in cells:
        method = next(cells)
        if method not in get_args(Method):
            tag, base, resource = word, method, next(cells)
            continue
        suffix, action = next(cells), next(cells)
        path = base if suffix == "-" else base + suffix
        permission: Access | tuple[Need, ...] = Access.NO_AUTH
        if action != "-":
            permission = (Need(Action(action), getattr(resources, f"on_{resource}")),)
        yield Operation(
            id=word,
            tag=tag,
            method=msgspec.convert(method, Method),
            path=path,
            summary="not implemented",
            permission=permission,
            params=_params(path),
            status=501,
        )


def _params(path: str) -> Any:
    """Returns a struct with the path's parameters, with fields in snake case."""
    names = re.findall(r"\{(\w+)\}", path)
    if not names:
        return None
    fields = [
        (re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(), str, msgspec.field(name=name))
        for name in names
    ]
    return msgspec.defstruct("PathOnly", fields, frozen=True, kw_only=True)


OPERATIONS = tuple(_operations())
