"""The declaration of an S3 operation: routing, permissions and execution all derive from it.

A declaration without a permission is a type error, and raises TypeError when it is created.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, NamedTuple

import msgspec

from anabranch.access.policies.permissions import Action
from anabranch.http.execution import BodyKind, Execution, check_declaration
from anabranch.http.response import Response
from anabranch.s3.call import Call

__all__ = ["BY_KEY", "ByKey", "Level", "Method", "Need", "Operation"]

Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]


class Level(Enum):
    """The kind of resource that a request names."""

    SERVICE = "service"
    BUCKET = "bucket"
    OBJECT = "object"

    __hash__ = object.__hash__
    """Each request looks one up, and the hash of `Enum` is a function of Python."""


class Need(NamedTuple):
    """A permission that an operation needs: an action on the resource that `resource` returns."""

    action: Action
    resource: Callable[[Call], str]


class ByKey(Enum):
    """Marks an operation on many keys, each of which is authorized on its own."""

    BY_KEY = "by key"


BY_KEY = ByKey.BY_KEY
"""The handler checks the permission of each key and reports a denial for that key."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `on` is the query parameter, or the header, that distinguishes it from the
    plain operation of its method, or both with a space between. The body of a `form` holds the
    caller's signature and the key, and is read that far before authorization. `execution` declares
    where the handler runs.
    """

    id: str
    method: Method
    level: Level
    on: str = ""
    permission: tuple[Need, ...] | ByKey
    body: BodyKind = BodyKind.NONE
    form: bool = False
    execution: Execution = Execution.POOLED
    handler: Callable[[Call], Response]

    def __post_init__(self) -> None:
        if self.permission == () or not isinstance(self.permission, (ByKey, tuple)):
            raise TypeError(f"operation {self.id} declares no permission")
        check_declaration(self.id, self.execution, self.body)
