"""A server's stores where all is in a folder on one machine: blocks on a disk that may lose what
was not synced (`disk`), and records as SQLite keeps them.

SQLite itself is not run: it writes, syncs and locks its files in C, where no scheduler can hand
over, and no seed decides what is lost. What it promises is modelled: a write is durable when it
returns or, within `durable_later`, with the next one that is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from simulation.fate import Fate

from anabranch.blocks.contract import BlockInfo, Stored
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.quarantine import Outcome, Quarantine, Removal
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.later_durability import may_be_durable_later
from anabranch.keyvalue.memory import MemoryStore

if TYPE_CHECKING:
    from random import Random

    from simulation.world import Server

__all__ = ["FolderBlocks", "FolderQuarantine", "FolderStore"]

T = TypeVar("T")

_JOURNAL_BYTES = 4096
"""So that journals are full now and then."""


class FolderStore(MemoryStore):
    """The records of all servers of a machine. Planted faults set `is_ordered` to False."""

    def __init__(self) -> None:
        super().__init__()
        self.is_ordered = True
        self._not_durable: list[list[Write]] = []
        """What undoes the writes that are not durable yet, the oldest first."""

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        """Makes writes, durable when this returns, or later."""
        before = [Write(each.partition, each.key, self.get(*each[:2])) for each in writes]
        made = super().apply(writes, expect)
        if made and may_be_durable_later():
            self._not_durable.append(before)
        elif made and writes and self.is_ordered:
            self._not_durable.clear()
        return made

    def lose_power(self, random: Random) -> None:
        """Loses writes that are not durable, the newest ones."""
        for _ in range(random.randrange(len(self._not_durable) + 1)):
            super().apply(self._not_durable.pop())
        self._not_durable.clear()


class FolderBlocks(LocalBlocks):
    """A server's store on the folder of the machine: each call hands over, and may fail."""

    def __init__(self, server: Server) -> None:
        self._server = server
        world = server.world
        super().__init__(
            world.disk.root,
            clock=server.clock,
            journal_bytes=_JOURNAL_BYTES,
            import_enabled=True,
            external_prefixes=(str(world.cache / "outside"),),
        )
        self.checked = None  # so that every read is a call
        self.quarantine = FolderQuarantine(self.quarantine, self._perform)
        world.disk.set_times(world.now)  # of what was restored from journals

    def end(self) -> None:
        """Ends as a process does that is killed: its journals are unlocked, and left."""
        for segment in (self._journal._current, self._journal._full, self._journal._spare):
            if segment is not None:
                segment.close()

    def checkpoint(self) -> None:
        """Does what a background thread does now and then."""
        self._perform("checkpoint", "", self._journal.checkpoint)

    def put(self, address: str, chunks: Iterable[bytes], **options) -> Stored:
        body, put = list(chunks), super().put

        def put_now() -> Stored:
            stored = put(address, body, **options)
            now = self._server.world.now
            os.utime(self.local_path(address), (now, now))
            return stored

        return self._perform("put", address, put_now)

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        get = super().get
        return self._perform("get", address, lambda: get(address, start, length))

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        read = super().read
        return self._perform("read", address, lambda: read(address, start, length))

    def list(self, prefix: str, after: str = "") -> Iterator[BlockInfo]:
        walk = super().list
        return self._perform("list", prefix, lambda: walk(prefix, after))

    def stat(self, address: str) -> BlockInfo | None:
        look = super().stat
        return self._perform("stat", address, lambda: look(address))

    def delete(self, addresses: Iterable[str]) -> None:
        names, delete = list(addresses), super().delete
        self._perform("delete", names[0] if names else "", lambda: delete(names))

    def make_durable(self, prefix: str, files: Mapping[str, bytes]) -> None:
        make_durable = super().make_durable
        self._perform("make_durable", prefix, lambda: make_durable(prefix, files))

    def _perform(self, call: str, subject: str, act: Callable[[], T]) -> T:
        fate = self._server.step(call, subject)
        if fate is not Fate.DONE and fate is not Fate.LAST:
            self._server.fail(Fate.REFUSED)
        result = act()
        if fate is Fate.LAST:
            self._server.fail(fate)
        return result


class FolderQuarantine:
    """A server's quarantine in the folder of the machine: each call hands over, and may fail."""

    def __init__(self, quarantine: Quarantine, perform: Callable[..., Any]) -> None:
        self._quarantine = quarantine
        self._perform = perform
        self.require = quarantine.require

    def size_and_version(self, address: str) -> tuple[int, str] | None:
        """Returns the size and the version of the block at an address, None without."""
        look = self._quarantine.size_and_version
        return self._perform("size_and_version", address, lambda: look(address))

    def remove(self, removals: Sequence[Removal]) -> None:
        """Moves blocks into quarantine."""
        for removal in removals:
            act = partial(self._quarantine.remove, [removal])
            self._perform("remove", removal.address, act)

    def restore(self, removal: Removal) -> Outcome:
        """Moves a block back."""
        return self._perform("restore", removal.address, lambda: self._quarantine.restore(removal))

    def purge(self, removal: Removal, before: float) -> int | None:
        """Removes a block that is in quarantine."""
        return self._perform(
            "purge", removal.address, lambda: self._quarantine.purge(removal, before)
        )
