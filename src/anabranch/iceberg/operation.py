"""The declaration of an operation: its route, its permissions, its body, and what performs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from anabranch.access.policies.permissions import Permission
from anabranch.http.response import Response
from anabranch.iceberg.call import Call

__all__ = ["Operation"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation. `route` is its path without prefix, as the specification writes it in
    `endpoints`: `{prefix}` stands for any number of parts. `needs` returns the permissions of a
    call, which are checked before `handler` is called; each handler may need more that depends on
    what it finds. A `keyed` operation may be repeated with an Idempotency-Key: `answer` returns the
    response from what was recorded.
    """

    id: str
    method: Literal["GET", "HEAD", "POST", "DELETE"]
    route: str
    needs: Callable[[Call], Iterable[Permission]]
    handler: Callable[[Call], Response]
    answer: Callable[[Call, bytes], Response] | None = None

    @property
    def keyed(self) -> bool:
        """Whether a request can be repeated with a key."""
        return self.answer is not None
