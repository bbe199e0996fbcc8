"""Worlds by what the servers' stores are: a folder on one machine, and PostgreSQL with buckets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import greenlet
from simulation.disk import Disk
from simulation.fate import FATES, Chance, Fate
from simulation.folder import FolderBlocks, FolderStore
from simulation.postgres import Database, Disturbance, open_store
from simulation.stores import SimulatedBlocks, SimulatedStore
from simulation.threads import Threads
from simulation.world import CACHED_RULES, Killed, Server, World

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.paths import QUARANTINE
from anabranch.errors import Busy
from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.postgres.connection import Statement
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.trees.tree_writers import TreeWriter
from anabranch.versioning.trees.trees import Trees

__all__ = ["DatabaseWorld", "FolderWorld"]

WRITES_FAIL = 0.25
"""The probability that a transaction fails that writes: each way to fail has other consequences."""
_WRITES = (b"INSERT", b"DELETE")
CRASHES = 2
"""How many times as often as a server the database crashes."""


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
        self._moments = itertools.count()

    def __enter__(self) -> Self:
        super().__enter__()
        self.replace("os.fsync", self.disk.sync)
        self.replace("os.fdatasync", self.disk.sync)
        local = "anabranch.blocks.local"
        self.replace(f"{local}.fsync._MAX_INDIVIDUAL", 1 << 30)
        self.replace(f"{local}.journal.segment._PREALLOCATED_BYTES", 1024)
        self.replace(
            f"{local}.journal.segment.create_segment.__defaults__", (Chance(self.seed).randbytes,)
        )
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
        # one after the other: by its time and size, a file is taken for another
        moment = int(self.now * 1e9) + next(self._moments)
        os.utime(path, ns=(moment, moment))

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
    """Servers that have their records in PostgreSQL, each with connections of its own. Its owner
    has set that transactions do not wait for the disk. It crashes now and then, and in the end.
    """

    def __init__(self, cache: Path, seed: int) -> None:
        super().__init__(cache, seed)
        self.database = Database("off", self.random)
        self.database.is_up = lambda: self.now >= self._up_at
        self.faults = 0.02
        self._up_at = 0.0
        self._clients: dict[Server, Disturbance] = {}
        self._broken: dict[Server, int] = {}
        """How often the network fails for a server from now on."""

    def __enter__(self) -> Self:
        super().__enter__()
        postgres = "anabranch.keyvalue.postgres"
        for module in ("executor", "pool"):
            self.replace(f"{postgres}.{module}.time", self)
        self.replace(f"{postgres}.executor.random", self.random)
        self.replace(f"{CACHED_RULES}.__init__.__defaults__", (self.time,))
        self.replace(f"{postgres}.pool.threading", Threads(self))
        self.replace("anabranch.keyvalue.recent_values.time", self)
        return self

    def connect(self, server: Server) -> tuple[Any, Any]:
        def disturb(statements: Sequence[Statement]) -> str:
            return self._disturb(server, statements) if server.is_ready else "made"

        self._clients[server] = disturb
        store = open_store(self.database, disturb, self.time)
        return PrefetchedReads(store), SimulatedBlocks(server, self.blocks)

    def server(self, skew: float | None = None) -> Server:
        """Returns a new server, as soon as the database is there."""
        while True:
            try:
                return super().server(skew)
            except Busy:
                self.sleep(1.0)

    def after_death(self, server: Server) -> None:
        self.database.leave(self._clients[server])

    def end(self) -> None:
        if self.random.random() < 0.5:
            self.database.finish()
        self.database.crash()
        self._up_at = self.now

    def _disturb(self, server: Server, statements: Sequence[Statement]) -> str:
        if self.random.random() < 0.03:
            self.database.finish()  # what was left running has ended by now
        if self.random.random() < 0.02:
            self.database.flush()
        fate = self._fate(server, any(sql.startswith(_WRITES) for sql, _ in statements))
        if fate is Fate.LAST:
            server.alive = False
            self.after_death(server)
            return "lost"
        if self._crashes(server):
            self.trace.append("the database crashes")
            self._up_at = self.now + self.random.choice((0.0, 0.5, 5.0))
            return "crash after" if fate.is_performed else "crash"
        if self._broken.get(server):
            self._broken[server] -= 1
            return "unsent"
        if fate is Fate.UNKNOWN:
            self._broken[server] = self.random.choice((0, 1, 2))
            return self.random.choice(("unsent", "late", "late", "late", "late"))
        if fate is Fate.DONE:
            return "made"
        return "refused" if fate is Fate.REFUSED else "lost"

    def _fate(self, server: Server, writes: bool) -> Fate:
        """Decides what becomes of a transaction; one that writes fails more often."""
        fate = server.step("write" if writes else "read", "")
        is_actor = greenlet.getcurrent() is not self.main
        if writes and is_actor and self.random.random() < WRITES_FAIL * server.luck:
            fate = self.random.choice((*FATES, Fate.UNKNOWN, Fate.UNKNOWN))
        return fate

    def _crashes(self, server: Server) -> bool:
        """Decides whether the database crashes; more often if that would lose something."""
        if greenlet.getcurrent() is self.main:
            return False
        likely = 0.1 if self.database.is_behind else self.kills * CRASHES
        return self.random.random() < likely * server.luck
