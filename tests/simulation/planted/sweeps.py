"""Planted faults of garbage collection."""

from __future__ import annotations

from typing import Any

from simulation.planted.plant import Plant, needs
from simulation.world import Server, World

from anabranch.pipelines.garbage.fence import DEADLINE_SECONDS, Deadline
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.garbage.run import Run
from anabranch.pipelines.garbage.sweeping.purge import Purge, PurgeResult
from anabranch.pipelines.garbage.sweeping.removal import PreparedBatch, QuarantineRemover

__all__ = ["PLANTED"]

_GARBAGE = "anabranch.pipelines.garbage"


@needs("garbage")
def no_fence(world: World) -> None:
    """An object is linked without a look at what garbage collections are about to remove."""

    def plant(server: Server) -> None:
        server.lake.core.sweeps.admit_addresses = lambda _addresses: ((), ())

    world.on_server.append(plant)


@needs("garbage")
def marks_once(world: World) -> None:
    """A garbage collection reads references before it says what it will remove, and not again."""
    mark = Reachability.mark

    def once(self: Reachability, *arguments: object) -> None:
        if not self.hashes:
            mark(self, *arguments)

    world.replace(f"{_GARBAGE}.marking.reachable.Reachability.mark", once)


@needs("garbage")
def age_by_host_clock(world: World) -> None:
    """A garbage collection takes the age of objects by the clock of its host."""

    def own_time(self: Run) -> float:
        self.files.write_summary(self.summary)
        return self._clock()

    world.replace(f"{_GARBAGE}.run.Run.determine_time", own_time)


@needs("garbage")
def lost_removal_is_failure(world: World) -> None:
    """A removal into quarantine whose response was lost is taken for failure: its record goes."""
    remove = QuarantineRemover.remove

    def remove_or_cancel(self: QuarantineRemover, prepared: PreparedBatch, deadline) -> None:
        remove(self, prepared, deadline)
        if world.random.random() < 0.1:
            self.cancel(prepared)

    world.replace(f"{_GARBAGE}.sweeping.removal.QuarantineRemover.remove", remove_or_cancel)


@needs("garbage")
def purge_without_looking(world: World) -> None:
    """A purge of the quarantine neither says what it will remove, nor looks who needs it now."""
    run = Purge.run

    def run_at_once(self: Purge, *arguments: Any) -> PurgeResult:
        self._fence.begin_round = lambda _names, _mark: Deadline.after(DEADLINE_SECONDS)
        self._needed_addresses = lambda _names: set()
        return run(self, *arguments)

    world.replace(f"{_GARBAGE}.sweeping.purge.Purge.run", run_at_once)


PLANTED: tuple[Plant, ...] = (
    no_fence,
    marks_once,
    age_by_host_clock,
    lost_removal_is_failure,
    purge_without_looking,
)
