"""The preparation of a garbage collection: its results."""

from __future__ import annotations

import msgspec

__all__ = ["Preparation"]


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a preparation: the address of the list of active commits (`commits`), and the
    address where the collector may write the addresses of garbage. Both are full addresses.
    """

    run_id: str
    commits: str
    addresses: str
