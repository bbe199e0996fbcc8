"""The execution of a request: what its operation declares, as far as the stores and its body allow.

declared    stores, body                                     executed
inline      both stores on this machine                      inline
inline      objects here, database elsewhere; small body     batched
batched     objects on this machine; small body              batched
any         a body that streams and is not small             streamed
any         otherwise                                        pooled
"""

from __future__ import annotations

from typing import NamedTuple

from anabranch.http.execution import BodyKind, Execution

__all__ = ["MAX_SMALL_BODY", "StoreCapabilities", "resolve"]

MAX_SMALL_BODY = 64 << 10
"""The longest body that is taken whole before the work begins, in bytes."""


class StoreCapabilities(NamedTuple):
    """Where the stores are: a call to one on another machine waits for the network."""

    local_keyvalue: bool
    local_blocks: bool

    @property
    def local(self) -> bool:
        """Whether no call waits for the network."""
        return self.local_keyvalue and self.local_blocks


def resolve(
    declared: Execution, body: BodyKind, length: int | None, stores: StoreCapabilities
) -> Execution:
    """Returns the execution of a request whose body has that length in bytes; None for a body in
    chunks, whose length is not known.
    """
    if declared is Execution.INLINE and stores.local_keyvalue and stores.local_blocks:
        return Execution.INLINE
    is_small = length is not None and length <= MAX_SMALL_BODY
    if not is_small and body is BodyKind.STREAM:
        return Execution.STREAMED
    # where objects are on another machine, each call would keep the others of its batch waiting
    is_batched = declared is Execution.BATCHED or declared is Execution.INLINE
    if is_batched and is_small and stores.local_blocks:
        return Execution.BATCHED
    return Execution.POOLED
