"""Where a campaign strikes: stores and requests that call it ahead of the steps of a sweep."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.installations.requests import Asking
from support.attacks.campaign import Campaign

__all__ = ["AttackedCalls", "AttackedStore", "Strikes", "WatchedBlocks"]

_RECORDS = "anabranch-sweeps"

Before = Callable[[str], None]
"""Is called ahead of a step, with its name."""


class Strikes:
    """Strikes ahead of the steps of a sweep, once `campaign` is set: at most `most` times ahead of
    each kind of step.
    """

    def __init__(self, most: int) -> None:
        self.campaign: Campaign | None = None
        self._most = most
        self._made: Counter[str] = Counter()
        self._condemned = False

    def at(self, moment: str) -> None:
        """Strikes ahead of a step."""
        if self.campaign is not None and self._made[moment] < self._most:
            self._made[moment] += 1
            self.campaign.strike(moment)

    def at_step(self, operation: str, subject: str) -> None:
        """Strikes ahead of changes of the records of sweeps, and of the look after tombstones: as
        `FaultyStore` calls it.
        """
        if operation == "scan" and self._condemned:
            self.at("look")
            self._condemned = False
        elif subject.startswith(_RECORDS) and operation in {"apply", "drop"}:
            self._condemned = operation == "apply" and subject != _RECORDS
            self.at("tombstones" if self._condemned else f"{operation} of records")


class WatchedBlocks(LocalBlocks):
    """A local store that calls `before` ahead of each batch that is removed."""

    before: Before = staticmethod(lambda _: None)

    def delete(self, addresses: Iterable[str]) -> None:
        """Removes blocks."""
        self.before("removal")
        super().delete(addresses)


class AttackedStore:
    """Opens the local store in `root`, of which a campaign attacks each batch that is removed. It
    can be pickled: tasks open it, each anew.
    """

    def __init__(self, root: str, campaign: Campaign) -> None:
        self._root = root
        self._campaign = campaign

    def __call__(self) -> BlockStore:
        """Returns the store."""
        blocks = WatchedBlocks(self._root)
        blocks.before = lambda moment: self._campaign.strike(f"{moment} by {_executor()}")
        return blocks


class AttackedCalls:
    """A collector's requests to a server; `before` is called ahead of each."""

    def __init__(self, calls: Asking, before: Before) -> None:
        self._calls = calls
        self._before = before

    def get(self, *segments: str) -> Any:
        """Returns what a response holds."""
        return self._calls.get(*segments)

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing."""
        self._before("GET")
        return self._calls.items(*segments, **query)

    def change(self, method: str, *segments: str, **sent: Any) -> bytes:
        """Makes a request that changes something."""
        self._before(f"{method} {segments[-1]}")
        return self._calls.change(method, *segments, **sent)


def _executor() -> str:
    """Returns which executor of Spark a worker's process belongs to, "" for none."""
    pid = os.getpid()
    while pid > 1:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
        if "--executor-id" in words:
            return f"executor {words[words.index('--executor-id') + 1]}"
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return ""
