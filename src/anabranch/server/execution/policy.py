"""How a request is executed: as its operation declares, if the stores and the body allow it.

declared    stores, body                                     executed
inline      both stores local                                inline
inline      local objects, remote database; small body       batched
batched     local objects; small body                        batched
any         streaming body that is not small                 streamed
any         otherwise                                        pooled
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.http.execution import BodyKind, Execution

__all__ = ["MAX_SMALL_BODY", "StoreCapabilities", "resolve"]

MAX_SMALL_BODY = 64 << 10
"""Maximum size, in bytes, of a body that is received completely before the operation starts."""


class StoreCapabilities(NamedTuple):
    """Whether the stores are on this machine; a call to a remote store waits for the network."""

    local_keyvalue: bool
    local_blocks: bool

    @property
    def local(self) -> bool:
        """Whether no call waits for the network."""
        return self.local_keyvalue and self.local_blocks


def resolve(
    declared: Execution, body: BodyKind, length: int | None, stores: StoreCapabilities
) -> Execution:
    """Returns how a request is executed. `length` is the body's length in bytes, None for a chunked
    body, whose length is unknown.
    """
    if declared is Execution.INLINE and stores.local_keyvalue and stores.local_blocks:
        return Execution.INLINE
    is_small = length is not None and length <= MAX_SMALL_BODY
    if not is_small and body is BodyKind.STREAM:
        return Execution.STREAMED
    # with a remote object store, each call would delay the others of its batch
    is_batched = declared is Execution.BATCHED or declared is Execution.INLINE
    if is_batched and is_small and stores.local_blocks:
        return Execution.BATCHED
    return Execution.POOLED
