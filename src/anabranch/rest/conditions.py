"""The conditions that writes may carry, in the one form that lakeFS knows."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from anabranch.errors import NotSupported
from anabranch.rest.parameters import HEADER, AtBranch, ObjectPath

__all__ = ["ConditionalWrite"]

_IfNoneMatch = Annotated[
    str, HEADER, Meta(description='"*" writes only where nothing is; nothing else is supported')
]
_IfMatch = Annotated[str, HEADER, Meta(description="not supported")]


class ConditionalWrite(AtBranch, frozen=True, kw_only=True):
    """The parameters of a write that may be on condition that nothing is there."""

    path: ObjectPath
    if_none_match: _IfNoneMatch = field(default="", name="If-None-Match")
    if_match: _IfMatch = field(default="", name="If-Match")

    @property
    def if_absent(self) -> bool:
        """Whether to write only where nothing is. Raises NotSupported for other conditions."""
        if self.if_match or self.if_none_match not in {"", "*"}:
            raise NotSupported("Not Implemented", kind="unsupported_condition")
        return self.if_none_match == "*"
