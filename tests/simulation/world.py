"""A world of several servers over two stores, in which one thing happens at a time, by a seed.

Each client runs on a greenlet with a server of its own, and hands over at each call to a store. The
seed decides who goes on, which call fails and how, which server is killed, and what the clocks say.
Nothing else is random, so a seed runs the same way again. What the code itself would give to other
threads, such as the upload of several tables, is done by its own (`SameThread`), so that it is
scheduled, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self
from unittest import mock

from greenlet import getcurrent, greenlet
from simulation.buckets import SharedBlocks
from simulation.disk import START
from simulation.fate import FATES, Chance, Fate, Killed
from simulation.stores import SharedStore, SimulatedBlocks, SimulatedStore
from simulation.threads import Threads
from support.stepped_scenario import read_staged_first

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.library import Lake
from anabranch.pipelines.imports.merge_sorted_runs import merge_latest

if TYPE_CHECKING:
    from simulation.garbage import Leavings

__all__ = ["CACHED_RULES", "START", "Actor", "Killed", "Server", "World"]

_MAX_STEPS = 20_000
_PAUSES = (0.0, 0.001, 0.5, 5.0)
"""How many seconds may pass between two steps."""

_TIMED = ("pipelines.garbage.fence", "versioning.garbage.sweeps")
"""Modules that ask for the time, or sleep."""
_THREADED = (
    *("pipelines.jobs.parallel_map", "blocks.cache.table_cache"),
    "versioning.garbage.tree_admission",
)
"""Modules that give work to threads."""
_WAITING = (
    *("pipelines.jobs.job", "pipelines.jobs.registry", "pipelines.images.build_job"),
    *("versioning.commits.branch_locks", "versioning.commits.moves"),
)
"""Modules that start threads, or wait for others while those call a store."""
_BUILD_TREE = "anabranch.pipelines.imports.build_tree"
_IDENTIFIERS = "anabranch.versioning.identifiers.Identifiers"
_PHASES = "anabranch.pipelines.jobs.phase_times.PhaseTimes"
CACHED_RULES = "anabranch.catalog.protection.Protection"


class SameThread:
    """An executor of `concurrent.futures` that has no threads."""

    def __init__(self, _threads: int = 1) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Calls `work`; returns its result."""
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:  # noqa: BLE001  raised by `result`
            future.set_exception(error)
        return future

    map = staticmethod(map)


class Server:
    """A server of the world, whose clock is ahead by `skew` seconds. It is replaced by another when
    it is killed. What may happen to a call is less likely by the factor `luck`.
    """

    def __init__(self, world: World, number: int, skew: float) -> None:
        self.world = world
        self.number = number
        self.alive = True
        self.skew = skew
        self.luck = 1.0
        self.is_ready = False
        keyvalue, blocks = world.connect(self)
        self.blocks = blocks
        self.lake = Lake(
            keyvalue,
            blocks,
            cache_folder=world.cache,
            signing_secret=b"a secret of tests",
            clock=self.clock,
            undo_days=1,
        )
        self._in_kernel = False
        self._keep_out_of_kernel()
        self.lake.core.identifiers._random = world.random.randbytes
        self.lake.core.identifiers._process = number << 24
        self.lake.core.identifiers._counter = itertools.count()
        self.is_ready = True

    def clock(self) -> float:
        """Returns the time as this server has it, in seconds since 1970."""
        return self.world.now + self.skew

    def step(self, call: str, subject: str) -> Fate:
        """Lets others go on before a call; returns what becomes of it."""
        world = self.world
        if not self.alive or world.has_ended:
            raise Killed
        if get_ident() != world.thread or getcurrent() is world.main:
            return Fate.DONE
        if not self._in_kernel:
            world.main.switch()
            if not self.alive:  # it was killed meanwhile
                raise Killed
        fate = world.fate(self, call, subject)
        if fate is Fate.LAST and world.random.random() < 0.5:
            self.die()
        return fate

    def _keep_out_of_kernel(self) -> None:
        """Lets nobody else go on while the kernel calls back: it counts for each thread how often
        that has entered the interpreter, and not for each greenlet.
        """
        trees = self.lake.core.trees
        locate = trees._tables.locate

        def locate_undisturbed(*arguments: str) -> str:
            self._in_kernel = True
            try:
                return locate(*arguments)
            finally:
                self._in_kernel = False

        trees._tables.locate = locate_undisturbed
        read_staged_first(self.lake)

    def die(self) -> NoReturn:
        """Ends the server at once; where there is a disk, the power may be lost."""
        self.alive = False
        self.world.after_death(self)
        raise Killed

    def fail(self, fate: Fate) -> NoReturn:
        """Raises the error of a call that was not done, or of one whose response was lost."""
        if fate is Fate.LAST:
            self.die()
        if fate is Fate.REFUSED:
            raise Busy("the store cannot be reached", kind="unreachable")
        raise OutcomeUnknown("the connection to the store was lost")


class Actor(Protocol):
    """Something that acts in the world. `strides` says how many steps it may take at once."""

    strides: Sequence[int]

    def run(self) -> None:
        """Acts until it has done all that it has to do."""


class World:
    """Servers over two stores. `faults` and `kills` are the probabilities that a call to a store
    fails, and that the server is killed at it. `uploads` is how many uploads are under way;
    `leavings` what garbage collections have to do with, where there are some; `kind` is what
    clients do.
    """

    namespace = "mem://sea"

    def __init__(self, cache: Path, seed: int) -> None:
        self.seed = seed
        self.random = Chance(seed)
        self._names = Chance(seed)
        self.cache = cache
        self.faults, self.kills = 0.01, 0.002
        self.now = START
        self.uploads = 0
        self.thread = get_ident()
        self.main = getcurrent()
        self.store: Any = SharedStore()
        self.blocks = SharedBlocks(clock=lambda: self.now)
        self.outside = "mem://outside"
        """The address of a folder from which objects are imported."""
        self.trace: list[str] = []
        self.on_server: list[Callable[[Server], object]] = []
        """What is done to each new server: planted faults."""
        self.leavings: Leavings | None = None
        self.kind = "buckets"
        self.has_ended = False
        self._servers: list[Server] = []
        self._running: list[tuple[greenlet, Actor]] = []
        self._numbers = 0
        self._replaced = ExitStack()

    def connect(self, server: Server) -> tuple[Any, Any]:
        """Returns a server's connections to the store of records, and to that of blocks."""
        return SimulatedStore(server, self.store), SimulatedBlocks(server, self.blocks)

    def store_outside(self, name: str, body: bytes) -> None:
        """Stores an object in the folder from which objects are imported."""
        self.blocks.put(f"{self.outside}/{name}", [body])

    def quarantined(self) -> dict[tuple[str, str], bytes]:
        """Returns what is in quarantine, by its address and the batch or version of the removal."""
        return {key: block.body for key, block in self.blocks.hidden.items()}

    def after_death(self, server: Server) -> None:
        """What becomes of what a server leaves that was killed: nothing is on its machine."""

    def end(self) -> None:
        """What happens before the world is checked."""

    def __enter__(self) -> Self:
        self.replace("tempfile.tempdir", str(self.cache.parent))  # in memory, as the caches are
        for module in _TIMED:
            self.replace(f"anabranch.{module}.time", self)
        for module in _THREADED:
            self.replace(f"anabranch.{module}.ThreadPoolExecutor", SameThread)
        for module in _WAITING:
            self.replace(f"anabranch.{module}.threading", Threads(self))
        merge = merge_latest  # a store is listed before the kernel is called, and not by it
        self.replace(f"{_BUILD_TREE}.merge_latest", lambda streams: iter(list(merge(streams))))
        self.replace("secrets.token_hex", lambda size=32: self.random.randbytes(size).hex())
        self.replace("secrets.choice", self._names.choice)
        self.replace(f"{_IDENTIFIERS}.__init__.__defaults__", (self._names.randbytes,))
        # reports of jobs have these times: a disk tears a longer file in more places
        self.replace(f"{_PHASES}.__init__.__defaults__", (self.time,))
        # histories never change protection rules, so each server reads them once
        self.replace(f"{CACHED_RULES}.__init__.__defaults__", (lambda: 0.0,))
        return self

    def __exit__(self, *_: object) -> None:
        self.has_ended = True
        for server in self._servers:
            server.lake.core.trees.close()  # else their tables stay mapped
        self._replaced.close()

    def replace(self, name: str, value: object) -> None:
        """Replaces something of a module or a class, until the world ends."""
        self._replaced.enter_context(mock.patch(name, value))

    def server(self, skew: float | None = None) -> Server:
        """Returns a new server."""
        self._numbers += 1
        if skew is None:
            skew = self.random.choice((0.0, 0.0, -3.0, 7.0, 1800.0, -1800.0))
        server = Server(self, self._numbers, skew)
        self._servers.append(server)
        for plant in self.on_server:
            plant(server)
        return server

    def time(self) -> float:
        """Returns the time, in seconds since 1970: takes the place of the module's function."""
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        """Lets time pass, and others go on."""
        self.now += seconds
        if getcurrent() is not self.main and get_ident() == self.thread:
            self.main.switch()

    def let_others_go_on(self, turns: int) -> None:
        """Lets others go on for so many turns."""
        if getcurrent() is not self.main and get_ident() == self.thread:
            for _ in range(turns):
                self.main.switch()

    def wait(self, is_over: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Lets others go on until a condition holds, or for so long; returns whether it holds."""
        end = self.now + seconds
        assert is_over() or getcurrent() is not self.main, "no other actor can run meanwhile"
        while not is_over():
            if self.now >= end or self.has_ended:
                return False
            self.main.switch()
        return True

    def spawn(self, actor: Actor) -> None:
        """Lets another actor act from now on."""
        self._running.append((greenlet(actor.run, parent=self.main), actor))

    def let_hours_pass(self) -> None:
        """Suspends everything for hours, unless an upload is under way: no upload may take longer
        than the grace period of garbage collection.
        """
        if not self.uploads:
            self.now += self.random.choice((0, 1.5, 2)) * 3600

    def fate(self, server: Server, call: str, subject: str) -> Fate:
        """Decides what becomes of a call."""
        chance = self.random.random
        if chance() < self.faults * server.luck:
            fate = self.random.choice(FATES)
        elif chance() < self.kills * server.luck:
            fate = Fate.LAST
        else:
            self.trace.append(f"{server.number} {call} {subject} DONE")
            return Fate.DONE
        self.trace.append(f"{server.number} {call} {subject} {fate.name}")
        return fate

    def run(self, actors: Sequence[Actor]) -> None:
        """Runs the actors until all have ended."""
        for actor in actors:
            self.spawn(actor)
        running, choose, pause = self._running, self.random.choice, self.random.chooser(_PAUSES)
        for _ in range(_MAX_STEPS):
            if not running:
                return
            self.now += pause()
            chosen, actor = choose(running)
            for _ in range(choose(actor.strides)):
                chosen.switch()
                if chosen.dead:
                    running.remove((chosen, actor))
                    break
        raise AssertionError(f"the actors do not end: {self.trace[-20:]}")
