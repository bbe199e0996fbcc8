"""A world of several servers over two stores, in which one thing happens at a time, by a seed.

Each client runs on a greenlet with a server of its own, and hands over at each call to a store. The
seed decides who goes on, which call fails and how, which server is killed, and what the clocks say.
Nothing else is random, so a seed runs the same way again. Threads that the code itself starts, for
the upload of several tables, are not scheduled: they run while their client waits for them.
"""

from __future__ import annotations

import enum
import itertools
import random
import threading
from collections.abc import Callable
from pathlib import Path

import greenlet
from simulation.stores import SharedBlocks, SharedStore, SimulatedBlocks, SimulatedStore

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.library import Lake

__all__ = ["Fate", "Killed", "Server", "World"]

START = 1_700_000_000.0
_MAX_STEPS = 20_000


class Fate(enum.Enum):
    """What becomes of a call to a store."""

    DONE = "it is performed"
    REFUSED = "it is not performed, and the caller learns that"
    LOST = "it is performed, and the caller does not learn whether"
    UNKNOWN = "it is not performed, and the caller does not learn whether"
    LAST = "it is performed, and the server is killed"


_FATES = (Fate.REFUSED, Fate.LOST, Fate.UNKNOWN)


class Killed(BaseException):
    """The server was killed. What would clean up behind an error gets this again."""


class Server:
    """A server of the world. It is replaced by another when it is killed."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.alive = True
        self.skew = world.random.choice((0.0, 0.0, -3.0, 7.0, 3600.0, -3600.0))
        self.keyvalue = SimulatedStore(self)
        self.blocks = SimulatedBlocks(self)
        self.lake = Lake(
            self.keyvalue,
            self.blocks,
            cache_folder=world.cache,
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self.lake.core.identifiers._random = world.random.randbytes
        self.lake.core.identifiers._process = number << 24
        self.lake.core.identifiers._counter = itertools.count()

    def clock(self) -> float:
        """Returns the time as this server has it, in seconds since 1970."""
        return self.world.now + self.skew

    def step(self, call: str, subject: str) -> Fate:
        """Lets others go on before a call; returns what becomes of it."""
        if not self.alive:
            raise Killed
        if threading.get_ident() != self.world.thread or greenlet.getcurrent() is self.world.main:
            return Fate.DONE
        self.world.main.switch()
        fate = self.world.fate(self, call, subject)
        if fate is Fate.LAST and self.world.random.random() < 0.5:
            self.die()
        return fate

    def die(self) -> None:
        """Ends the server at once."""
        self.alive = False
        raise Killed

    def fail(self, fate: Fate) -> None:
        """Raises the error of a call that was not done, or of one whose response was lost."""
        if fate is Fate.LAST:
            self.die()
        if fate is Fate.REFUSED:
            raise Busy("the store cannot be reached", kind="unreachable")
        raise OutcomeUnknown("the connection to the store was lost")


class World:
    """Servers over two stores. `faults` and `kills` are the probabilities that a call to a store
    fails, and that the server is killed at it.
    """

    def __init__(self, cache: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.cache = cache
        self.faults, self.kills = 0.01, 0.002
        self.now = START
        self.thread = threading.get_ident()
        self.main = greenlet.getcurrent()
        self.store = SharedStore()
        self.blocks = SharedBlocks(clock=lambda: self.now)
        self.trace: list[str] = []
        self._numbers = 0

    def server(self) -> Server:
        """Returns a new server."""
        self._numbers += 1
        return Server(self, self._numbers)

    def fate(self, server: Server, call: str, subject: str) -> Fate:
        """Decides what becomes of a call."""
        fate = Fate.DONE
        if self.random.random() < self.faults:
            fate = self.random.choice(_FATES)
        elif self.random.random() < self.kills:
            fate = Fate.LAST
        self.trace.append(f"{server.number} {call} {subject} {fate.name}")
        return fate

    def run(self, clients: list[Callable[[], None]]) -> None:
        """Runs the clients until all have ended."""
        running = [greenlet.greenlet(client) for client in clients]
        for _ in range(_MAX_STEPS):
            if not running:
                return
            self.now += self.random.choice((0.0, 0.001, 0.5, 30.0))
            chosen = self.random.choice(running)
            chosen.switch()
            running = [each for each in running if not each.dead]
        raise AssertionError(f"the clients do not end: {self.trace[-20:]}")
