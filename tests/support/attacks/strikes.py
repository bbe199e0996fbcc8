"""Hooks of a campaign: stores and requests that call it before the steps of a sweep."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.installations.requests import ServerRequests
from support.attacks.campaign import Campaign

__all__ = ["AttackedCalls", "AttackedStore", "Strikes", "WatchedBlocks"]

_RECORDS = "anabranch-sweeps"

Before = Callable[[str], None]
"""A callback that is called before a step, with the name of the step."""


class Strikes:
    """Attacks before the steps of a sweep, once `campaign` is set: at most `limit` times before
    each kind of step.
    """

    def __init__(self, limit: int) -> None:
        self.campaign: Campaign | None = None
        self._limit = limit
        self._counts: Counter[str] = Counter()
        self._has_tombstones = False

    def at(self, step: str) -> None:
        """Attacks before a step."""
        if self.campaign is not None and self._counts[step] < self._limit:
            self._counts[step] += 1
            self.campaign.strike(step)

    def at_operation(self, operation: str, subject: str) -> None:
        """Attacks before changes of the records of sweeps, and before the marking that follows
        tombstones. It is a callback for `FaultyStore`.
        """
        if operation == "scan" and self._has_tombstones:
            self.at("marking")
            self._has_tombstones = False
        elif subject.startswith(_RECORDS) and operation in {"apply", "drop"}:
            self._has_tombstones = operation == "apply" and subject != _RECORDS
            self.at("tombstones" if self._has_tombstones else f"{operation} of records")


class WatchedBlocks(LocalBlocks):
    """A local store that calls `before` before it removes a batch."""

    before: Before = staticmethod(lambda _: None)

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks."""
        self.before("removal")
        super().delete(addresses)


class AttackedStore:
    """Opens the local store in `root`, with attacks of a campaign before each batch that is
    removed. It can be pickled, so that each task can open the store.
    """

    def __init__(self, root: str, campaign: Campaign) -> None:
        self._root = root
        self._campaign = campaign

    def __call__(self) -> BlockStore:
        """Returns the store."""
        blocks = WatchedBlocks(self._root)
        blocks.before = lambda step: self._campaign.strike(f"{step} by {_executor()}")
        return blocks


class AttackedCalls:
    """A collector's requests to a server; `before` is called before those that list or change."""

    def __init__(self, calls: ServerRequests, before: Before) -> None:
        self._calls = calls
        self._before = before

    def get(self, *segments: str) -> Any:
        """Returns the decoded JSON of a response."""
        return self._calls.get(*segments)

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing."""
        self._before("GET")
        return self._calls.items(*segments, **query)

    def change(self, method: str, *segments: str, **parameters: Any) -> bytes:
        """Sends a request that changes something."""
        self._before(f"{method} {segments[-1]}")
        return self._calls.change(method, *segments, **parameters)


def _executor() -> str:
    """Returns the Spark executor that this process belongs to, empty if there is none."""
    pid = os.getpid()
    while pid > 1:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        if "--executor-id" in words:
            return f"executor {words[words.index('--executor-id') + 1]}"
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return ""
