"""Declarations of the API's operations.

Routing, validation, permission checks, the way an operation is run and `/openapi.json` all follow
from its declaration. A declaration without a permission raises TypeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from anabranch.access.policies.permissions import Action, Permission
from anabranch.http.execution import BodyKind, Execution, check_declaration
from anabranch.rest.protocol.call import Call

__all__ = [
    "Access",
    "Method",
    "Need",
    "Operation",
    "OtherResponse",
]

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

ParamsT = TypeVar("ParamsT")
BodyT = TypeVar("BodyT")


class Access(Enum):
    """Who may call an operation that needs no permission on anything."""

    NO_AUTH = "no_auth"
    """Anyone; credentials are ignored."""
    ANYONE = "anyone"
    """Anyone; valid credentials are used, invalid ones are an error."""
    ANY_USER = "any_user"
    """All authenticated users."""
    SIGNED_URL = "signed_url"
    """Anyone with the URL; the use case checks its signature before anything else."""


class Need(NamedTuple):
    """A permission that an operation needs: an action on the resource whose name `resource` reads
    from the call. If it returns several names, the action must be allowed on each. `branch` reads
    the branch that the action changes, if that is not the one of the path or of the resource. `of`
    makes the permission instead, if one of several kinds suffices.
    """

    action: Action
    resource: Callable[[Call[Any, Any]], str | list[str]]
    branch: Callable[[Call[Any, Any]], str] | None = None
    of: Callable[[Call[Any, Any]], Permission] | None = None


class OtherResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response with another status than the declared one."""

    status: int
    description: str
    type: Any = None
    media_type: str = "application/json"


class Operation(msgspec.Struct, Generic[ParamsT, BodyT], frozen=True, kw_only=True):
    """One operation: `method` on `path` under the API's base.

    `params` is the struct of its path, query and header parameters: a field whose wire name is in
    the path is a path parameter, one marked as HEADER is a header, all others are in the query.
    `body` is the type of its JSON body. `stream` marks a body that is read as a stream; `content`
    describes it by media type, if it is not an upload. `files` are the media types of files that
    the response may be instead. `execution` declares where it runs. A
    `keyed` operation records its response in the same write as its change (`Call.recording`), so
    that a request with an idempotency key is executed once.
    """

    id: str
    tag: str
    method: Method
    path: str
    summary: str
    permission: Access | tuple[Need, ...]
    params: type[ParamsT] | None = None
    body: type[BodyT] | None = None
    body_optional: bool = False
    stream: bool = False
    content: dict[str, Any] | None = None
    status: int = 200
    response: Any = None
    media_type: str = "application/json"
    files: tuple[str, ...] = ()
    others: tuple[OtherResponse, ...] = ()
    execution: Execution = Execution.POOLED
    keyed: bool = False
    handler: Callable[[Call[ParamsT, BodyT]], object]

    def __post_init__(self) -> None:
        if self.permission == () or not isinstance(self.permission, (Access, tuple)):
            raise TypeError(f"operation {self.id} declares no permission")
        check_declaration(self.id, self.execution, self.body_kind)

    @property
    def body_kind(self) -> BodyKind:
        """How the operation takes its body."""
        if self.stream:
            return BodyKind.STREAM
        return BodyKind.NONE if self.body is None else BodyKind.WHOLE

    @property
    def path_names(self) -> tuple[str, ...]:
        """The names of the path's parameters, in order."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))
