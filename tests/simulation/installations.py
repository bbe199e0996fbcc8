"""Worlds by what the servers' stores are: a folder on one machine, and PostgreSQL with buckets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import greenlet
from simulation.disk import Disk
from simulation.folder import FolderBlocks, FolderStore
from simulation.postgres import Database, open_store
from simulation.stores import SimulatedBlocks, SimulatedStore
from simulation.world import Fate, Killed, Server, World

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.paths import QUARANTINE
from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.postgres.connection import Statement
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.trees.tree_writers import TreeWriter
from anabranch.versioning.trees.trees import Trees

__all__ = ["DatabaseWorld", "FolderWorld"]


class FolderWorld(World):
    """Servers on one machine, whose stores are in a folder on its disk. The power is lost now and
    then, and in the end.
    """

    namespace = "local://sea"

    def __init__(self, cache: Path, seed: int) -> None:
        super().__init__(cache, seed)
        self.store = FolderStore()
        self.disk = Disk(cache / "disk", self.random, self._before_sync)
        self.outside = f"local://{cache}/outside"

    def __enter__(self) -> Self:
        super().__enter__()
        self.replace("os.fsync", self.disk.sync)
        self.replace("os.fdatasync", self.disk.sync)
        local = "anabranch.blocks.local"
        self.replace(f"{local}.fsync._MAX_INDIVIDUAL", 1 << 30)
        self.replace(f"{local}.journal.segment._PREALLOCATED_BYTES", 1024)
        self.replace(f"{local}.journal.journal.Journal._start_checkpointer", lambda _self: None)
        self._note_what_the_kernel_syncs()
        return self

    def __exit__(self, *arguments: object) -> None:
        super().__exit__(*arguments)
        self.disk.close()

    def connect(self, server: Server) -> tuple[Any, Any]:
        return SimulatedStore(server, self.store), FolderBlocks(server)

    def store_outside(self, name: str, body: bytes) -> None:
        path = self.cache / "outside" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def server(self, skew: float | None = None) -> Server:
        """Returns a new server. The power may be lost while it recovers what others have left."""
        while True:
            try:
                return super().server(skew)
            except Killed:
                if self.has_ended:
                    raise

    def quarantined(self) -> dict[tuple[str, str], bytes]:
        found = {}
        for hidden in self.disk.root.glob(f"*/{QUARANTINE}/*/*"):
            for path in hidden.rglob("*"):
                if path.is_file():
                    address = f"local://{hidden.parents[2].name}/{path.relative_to(hidden)}"
                    found[address, "/".join(hidden.parts[-2:])] = path.read_bytes()
        return found

    def _note_what_the_kernel_syncs(self) -> None:
        """Tables that are not left to the caller are synced when the kernel has written them."""
        write, move = Trees.write, TableCache._move

        def write_noted(trees: Trees, repository: Repository, writer: TreeWriter[Any]) -> Any:
            return write(trees, repository, _NotedWriter(writer, self.disk))

        def move_noted(tables: TableCache, namespace: str, folder: str, names: list[str]) -> bool:
            self.disk.note_synced(folder, names)
            return move(tables, namespace, folder, names)

        self.replace("anabranch.versioning.trees.trees.Trees.write", write_noted)
        self.replace("anabranch.blocks.cache.table_cache.TableCache._move", move_noted)

    def after_death(self, server: Server) -> None:
        if server.blocks is not None:
            server.blocks.end()
        if self.random.random() < 0.5:
            self._lose_power()

    def end(self) -> None:
        self._lose_power()

    def _before_sync(self) -> None:
        is_actor = greenlet.getcurrent() is not self.main
        if is_actor and not self.has_ended and self.random.random() < self.kills:
            self._lose_power()
            raise Killed

    def _lose_power(self) -> None:
        for server in self._servers:
            if server.alive:
                server.alive = False
                server.blocks.end()
        self.trace.append("the power is lost")
        self.disk.lose_power()
        self.store.lose_power(self.random)


class _NotedWriter(NamedTuple):
    """A writer of trees, of whose tables the disk learns which are synced."""

    writer: TreeWriter[Any]
    disk: Disk

    def write(self, folder: str, *, unsynced: bool = False) -> Any:
        """Writes the tree."""
        written = self.writer.write(folder, unsynced=unsynced)
        synced = {*written.tables} - {name for name, _ in written.unsynced}
        if synced:
            self.disk.note_synced(folder, sorted(synced))
        return written


class DatabaseWorld(World):
    """Servers that have their records in PostgreSQL, each with connections of its own."""

    def __init__(self, cache: Path, seed: int) -> None:
        super().__init__(cache, seed)
        self.database = Database()
        self.faults = 0.05  # of the four kinds of them, each has other consequences

    def __enter__(self) -> Self:
        super().__enter__()
        postgres = "anabranch.keyvalue.postgres"
        for module in ("executor", "pool"):
            self.replace(f"{postgres}.{module}.time", self)
        self.replace(f"{postgres}.executor.random", self.random)
        self.replace("anabranch.keyvalue.recent_values.time", self)
        return self

    def connect(self, server: Server) -> tuple[Any, Any]:
        def disturb(statements: Sequence[Statement]) -> str:
            return self._disturb(server, statements) if server.is_ready else "made"

        store = open_store(self.database, disturb, self.time)
        return PrefetchedReads(store), SimulatedBlocks(server, self.blocks)

    def end(self) -> None:
        self.database.finish()

    def _disturb(self, server: Server, statements: Sequence[Statement]) -> str:
        if self.random.random() < 0.02:
            self.database.finish()  # what was left running has ended by now
        fate = server.step("run", f"{len(statements)} statements")
        if fate is Fate.LAST:
            self.database.make(statements)
            server.die()
        if fate is Fate.UNKNOWN:
            return self.random.choice(("unsent", "late", "late"))
        return {Fate.DONE: "made", Fate.REFUSED: "refused", Fate.LOST: "lost"}[fate]
