"""What an operation of S3 is: the one declaration from which everything about it follows.

Which requests it takes, the permission check and the way it is run come from these declarations.
A declaration without a permission is a type error and fails when it is made.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Literal, NamedTuple

import msgspec

from anabranch.access.permissions import Action
from anabranch.s3.answer import Answer
from anabranch.s3.call import Call

__all__ = ["BY_KEY", "BodyKind", "ByKey", "Level", "Method", "Need", "Operation"]

Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]


class Level(Enum):
    """What a request is about."""

    SERVICE = "service"
    BUCKET = "bucket"
    OBJECT = "object"


class Need(NamedTuple):
    """A permission that an operation needs: an action on what `resource` reads out of the call."""

    action: Action
    resource: Callable[[Call], str]


class ByKey(Enum):
    """The permission of an operation on many keys, some of which may be permitted."""

    BY_KEY = "by key"


BY_KEY = ByKey.BY_KEY
"""The handler asks for each key, and refuses key by key."""


class BodyKind(Enum):
    """How an operation takes its body."""

    NONE = "none"
    WHOLE = "whole"
    """Read before the operation begins, up to a limit."""
    STREAM = "stream"
    """Handed on piece by piece, not looked at before who asks may."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `on` is the parameter of the query, or the header, that tells it from the
    plain operation of its method, or both with a space between. Of a `form` who asks, and for
    which key, stands in the body: it is read that far before anything is decided. `quick` ones
    neither wait nor take long, and have no body; `brief` ones wait for the stores alone, and not
    for long if their body is small.
    """

    id: str
    method: Method
    level: Level
    on: str = ""
    permission: tuple[Need, ...] | ByKey
    body: BodyKind = BodyKind.NONE
    form: bool = False
    quick: bool = False
    brief: bool = False
    handler: Callable[[Call], Answer]

    def __post_init__(self) -> None:
        if self.permission == () or not isinstance(self.permission, (ByKey, tuple)):
            raise TypeError(f"operation {self.id} declares no permission")
        if self.quick and self.body is not BodyKind.NONE:
            raise TypeError(f"operation {self.id} has a body, so it cannot be quick")
