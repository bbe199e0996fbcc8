"""The stores of a simulated world: shared ones in memory, and what a server sees of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from anabranch.blocks.memory import MemoryBlocks
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.stores import FaultyBlocks, FaultyStore

if TYPE_CHECKING:
    from simulation.world import Fate, Server

__all__ = ["SharedBlocks", "SharedStore", "SimulatedBlocks", "SimulatedStore"]


class SharedStore(MemoryStore):
    """The records of all servers. Planted faults replace its methods."""


class SharedBlocks(MemoryBlocks):
    """The blocks of all servers. Planted faults replace its methods."""


class SimulatedStore(FaultyStore):
    """A server's connection to the store of records."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.world.store, self._read)
        self._server = server

    def _read(self, call: str, subject: str) -> None:
        fate = self._server.step(call, subject)
        if fate.name != "DONE":
            self._server.fail(fate if fate.name == "LAST" else type(fate).REFUSED)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        fate = self._server.step("apply", writes[0].partition if writes else "")
        made = True
        if fate.name in ("DONE", "LOST", "LAST"):
            made = self.store.apply(writes, expect)
        if fate.name != "DONE":
            self._server.fail(fate)
        return made


class SimulatedBlocks(FaultyBlocks):
    """A server's connection to the store of blocks."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.world.blocks, self._step)
        self._server = server

    def _step(self, call: str, subject: str) -> None:
        if call == "chunk":
            return
        fate: Fate = self._server.step(call, subject)
        if fate.name != "DONE":
            self._server.fail(fate if fate.name == "LAST" else type(fate).REFUSED)

    def put(self, address: str, chunks: Iterable[bytes], **options):
        body = list(chunks)
        fate = self._server.step("put", address)
        stored = None
        if fate.name in ("DONE", "LOST", "LAST"):
            stored = self.store.put(address, body, **options)
        if stored is None or fate.name != "DONE":
            self._server.fail(fate if fate.name == "LAST" else type(fate).REFUSED)
        return stored
