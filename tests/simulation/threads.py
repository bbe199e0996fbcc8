"""Threads of a simulated world: what jobs ask of the module `threading`, on its scheduler.

A thread is an actor more, which ends when its server is killed. Events, locks,
semaphores and conditions hand over while they wait, and time passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from simulation.fate import Killed

if TYPE_CHECKING:
    from simulation.world import World

__all__ = ["Threads"]


class Threads:
    """Takes the place of the module `threading` in a module of the code."""

    def __init__(self, world: World) -> None:
        self._world = world

    def Thread(  # noqa: N802
        self, *, target: Callable[..., object], args: Sequence[object] = (), **_: Any
    ) -> _Thread:
        """Returns a thread."""
        return _Thread(self._world, partial(target, *args))

    def Event(self) -> _Event:  # noqa: N802
        """Returns an event."""
        return _Event(self._world)

    def Lock(self) -> _Lock:  # noqa: N802
        """Returns a lock."""
        return _Lock(self._world)

    def Semaphore(self, free: int) -> _Semaphore:  # noqa: N802
        """Returns a semaphore."""
        return _Semaphore(self._world, free)

    def Condition(self, _lock: object = None) -> _Condition:  # noqa: N802
        """Returns a condition."""
        return _Condition(self._world)


class _Thread:
    strides = (1,)

    def __init__(self, world: World, target: Callable[[], object]) -> None:
        self._world = world
        self._target = target

    def start(self) -> None:
        self._world.spawn(self)

    def run(self) -> None:
        with suppress(Killed):
            self._target()


class _Event:
    def __init__(self, world: World) -> None:
        self._world = world
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float = math.inf) -> bool:
        return self._world.wait(lambda: self._is_set, seconds)


class _Lock:
    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False

    def __enter__(self) -> Self:
        self._world.wait(lambda: not self._is_held)
        self._is_held = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_held = False


class _Semaphore:
    def __init__(self, world: World, free: int) -> None:
        self._world = world
        self._free = free

    def acquire(self, timeout: float = math.inf) -> bool:
        if not self._world.wait(lambda: self._free > 0, timeout):
            return False
        self._free -= 1
        return True

    def release(self) -> None:
        self._free += 1


class _Condition:
    """Needs no lock, because other actors run only while one waits."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._notices = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def notify(self) -> None:
        self._notices += 1

    notify_all = notify

    def wait(self, seconds: float = math.inf) -> bool:
        before = self._notices
        return self.wait_for(lambda: self._notices != before, seconds)

    def wait_for(self, is_over: Callable[[], bool], seconds: float = math.inf) -> bool:
        return self._world.wait(is_over, seconds)
