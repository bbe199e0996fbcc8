"""The stores of a simulated world as a server sees them: each call hands over, and may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from simulation.fate import Fate

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.external_objects import ExternalObject, ExternalObjects
from anabranch.blocks.quarantine import Outcome, Removal
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.stores import FaultyBlocks, FaultyQuarantine, FaultyStore

if TYPE_CHECKING:
    from simulation.world import Server

__all__ = ["TURNS", "SharedStore", "SimulatedBlocks", "SimulatedStore"]

T = TypeVar("T")

TURNS = 150
"""So many turns of others long work takes."""


class SharedStore(MemoryStore):
    """The records of all servers. Planted faults replace its methods."""


class SimulatedStore(FaultyStore):
    """A server's connection to the store of records."""

    def __init__(self, server: Server, store: KeyValueStore) -> None:
        super().__init__(store, self._read)
        self._server = server

    def _read(self, call: str, subject: str) -> None:
        fate = self._server.step(call, subject)
        if fate is not Fate.DONE:
            self._server.fail(fate if fate is Fate.LAST else Fate.REFUSED)

    def apply(self, writes: Sequence[Write], expect: Sequence[Expect] = ()) -> bool:
        fate = self._server.step("apply", writes[0].partition if writes else "")
        made = True
        if fate.is_performed:
            made = self.store.apply(writes, expect)
        if fate is not Fate.DONE:
            self._server.fail(fate)
        return made


class SimulatedBlocks(FaultyBlocks):
    """A server's connection to the store of blocks. Its clients repeat requests whose response was
    lost, and say at last that the store cannot be reached, whether they were performed or not.
    """

    def __init__(self, server: Server, store: BlockStore) -> None:
        super().__init__(store, self._step)
        self._server = server
        self.world = server.world
        if store.sources is not None:
            self.sources = SimulatedSources(store.sources, self)
        if store.quarantine is not None:
            self.quarantine = SimulatedQuarantine(store.quarantine, self)

    def _step(self, call: str, subject: str) -> None:
        if call == "chunk":
            return
        fate = self._server.step(call, subject)
        if fate is not Fate.DONE:
            self._server.fail(fate if fate is Fate.LAST else Fate.REFUSED)

    def perform(self, call: str, subject: str, act: Callable[[], T]) -> T:
        """Performs a request that changes something, or not, as fate decides."""
        fate = self._server.step(call, subject)
        if fate is Fate.DONE:
            return act()
        if fate.is_performed:
            act()
        return self._server.fail(fate if fate is Fate.LAST else Fate.REFUSED)

    def put(self, address: str, chunks: Iterable[bytes], **options):
        body = list(chunks)
        return self.perform("put", address, lambda: self.store.put(address, body, **options))

    def delete(self, addresses: Iterable[str]) -> None:
        for address in addresses:
            self.perform("delete", address, lambda: self.store.delete([address]))  # noqa: B023


class SimulatedSources:
    """A server's connection to what it imports."""

    def __init__(self, sources: ExternalObjects, blocks: SimulatedBlocks) -> None:
        self._sources = sources
        self._blocks = blocks
        self.check, self.owns, self.find = sources.check, sources.owns, sources.find

    def list(self, prefix: str) -> Iterator[ExternalObject]:
        """Yields the objects whose addresses begin so."""
        self._blocks.before("list_sources", prefix)
        objects = list(self._sources.list(prefix))
        self._blocks.world.let_others_go_on(TURNS)
        return iter(objects)


class SimulatedQuarantine(FaultyQuarantine):
    """A server's connection to the quarantine of the store of blocks."""

    def __init__(self, quarantine, blocks: SimulatedBlocks) -> None:
        super().__init__(quarantine, blocks.before)
        self._blocks = blocks

    def remove(self, removals: Sequence[Removal]) -> None:
        for removal in removals:
            self._blocks.perform(
                *("remove", removal.address),
                lambda: self.quarantine.remove([removal]),  # noqa: B023  called at once
            )

    def restore(self, removal: Removal) -> Outcome:
        return self._blocks.perform(
            "restore", removal.address, lambda: self.quarantine.restore(removal)
        )

    def purge(self, removal: Removal, before: float) -> int | None:
        self.before("versions", removal.address)
        if not self.quarantine.is_beneath(removal, before):
            return None
        return self._blocks.perform(
            "purge", removal.address, lambda: self.quarantine.remove_version(removal)
        )
