"""Conditional writes, in the one form that lakeFS supports."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from anabranch.errors import NotSupported
from anabranch.rest.protocol.parameters import HEADER, AtBranch, ObjectPath

__all__ = ["ConditionalWrite"]

_IfNoneMatch = Annotated[
    str,
    HEADER,
    Meta(description='"*" writes only if there is no object; no other value works'),
]
_IfMatch = Annotated[str, HEADER, Meta(description="not supported")]


class ConditionalWrite(AtBranch, frozen=True, kw_only=True):
    """Parameters of a write that can be made conditional on the absence of an object."""

    path: ObjectPath
    if_none_match: _IfNoneMatch = field(default="", name="If-None-Match")
    if_match: _IfMatch = field(default="", name="If-Match")

    @property
    def if_absent(self) -> bool:
        """Whether to write only if there is no object. Raises NotSupported for other conditions."""
        if self.if_match or self.if_none_match not in {"", "*"}:
            raise NotSupported("Not Implemented", kind="unsupported_condition")
        return self.if_none_match == "*"
