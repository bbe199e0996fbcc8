"""How a request is executed: as its operation declares, if the stores and the body allow it.

declared    stores, body                                     executed
inline      both stores local                                inline
inline      local objects, remote database; small body       batched
batched     local objects; small body                        batched
any         streaming body that is not small                 streamed
any         otherwise                                        pooled

A brief read is executed as an inline operation, a brief change as a batched one, and again on the
pool if that raises `TakesLong`. With an audit log or a remote database both are pooled: they scan
ranges of keys, which is a round trip for each call, and on the batch thread one after another.

Where the database is remote, an inline operation at a commit is tried on the event loop first:
mostly it finds all that it needs in memory, and if it would wait, it is batched.

Requests of a user with many or long policy statements are pooled in any case: neither the event
loop nor the batch thread prepares these statements and compares names with them.

Where the address of a request may name an ancestor that is far back, which takes as long as the
client wishes, neither the event loop nor the batch thread does it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.http.execution import BRIEF, BodyKind, Execution

__all__ = [
    "MAX_SMALL_BODY",
    "StoreCapabilities",
    "asks_for_long_page",
    "is_tried_inline",
    "may_name_far_ancestor",
    "resolve",
]

MAX_SMALL_BODY = 64 << 10
"""Maximum size, in bytes, of a body that is received completely before the operation starts."""


class StoreCapabilities(NamedTuple):
    """Whether the stores are on this machine; a call to a remote store waits for the network."""

    local_keyvalue: bool
    local_blocks: bool
    may_begin_twice: bool = True
    """Whether requests may be tried: an audit log would record the decision on them twice."""

    @property
    def local(self) -> bool:
        """Whether no call waits for the network."""
        return self.local_keyvalue and self.local_blocks


_FAR_BACK = re.compile(
    r"(?:[~^]|%7e|%5e)[0-9]{3}"  # a number of three digits
    r"|(?:(?:[~^]|%7e|%5e)[0-9]{0,2}){9}",  # many modifiers
    re.IGNORECASE,
)


def may_name_far_ancestor(path: str, query: str) -> bool:
    """Returns whether a reference in an address may be hundreds of commits back, as `main~200` is.
    A path of an object that looks so is taken for one.
    """
    text = f"{path}?{query}" if query else path
    # of most addresses, which have none of these, the expression need not be tried
    has_modifier = "~" in text or "^" in text or "%7" in text or "%5" in text
    return has_modifier and _FAR_BACK.search(text) is not None


_LONG_PAGE = re.compile(r"(?:^|&)amount=(?!100(?:&|\Z))[0-9]{3}")


def asks_for_long_page(query: str) -> bool:
    """Returns whether a page of more than 100 items is asked for: a brief read would find that out
    only after the caller was authenticated, and begin again.
    """
    return "amount=" in query and _LONG_PAGE.search(query) is not None


_COMMIT = re.compile("/[0-9a-f]{64}(?:/|$)")


def is_tried_inline(
    declared: Execution, resolved: Execution, path: str, stores: StoreCapabilities
) -> bool:
    """Returns whether a request that was `resolved` to be batched is first tried without waiting: a
    read at a commit, by its full id in the path.
    """
    return (
        declared is Execution.INLINE
        and resolved is Execution.BATCHED
        and stores.may_begin_twice
        and _COMMIT.search(path) is not None
    )


def resolve(
    declared: Execution,
    body: BodyKind,
    length: int | None,
    stores: StoreCapabilities,
    *,
    is_long: bool = False,
) -> Execution:
    """Returns how a request is executed. `length` is the body's length in bytes, None for a chunked
    body, whose length is unknown; `is_long` is whether it may take long, whatever is declared.
    """
    if is_long and declared is not Execution.STREAMED:
        declared = Execution.POOLED
    if declared in BRIEF:
        is_tried = stores.may_begin_twice and stores.local_keyvalue
        declared = BRIEF[declared] if is_tried else Execution.POOLED
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
