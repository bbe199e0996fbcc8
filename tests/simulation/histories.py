"""Histories of a simulated world: each by a seed."""

from __future__ import annotations

from pathlib import Path

from simulation.checks import check
from simulation.client import REPOSITORY, Client
from simulation.planted import Plant
from simulation.world import World

__all__ = ["SEEDS_OF_A_PLANT", "simulate"]

SEEDS_OF_A_PLANT = 200
"""A planted fault must be found by one of so many seeds."""

_CLIENTS = 3
_ACTIONS = 12


def simulate(cache: Path, seed: int, plant: Plant | None = None) -> list[str]:
    """Runs the world of a seed, and checks it; returns what happened, call by call."""
    world = World(cache, seed)
    lake = world.server().lake
    lake.repositories.create(REPOSITORY, f"mem://{REPOSITORY}", committer="first")
    lake.branches.create(REPOSITORY, "dev", "main")
    if plant is not None:
        plant(world)
    clients = [Client(world, number, _ACTIONS) for number in range(_CLIENTS)]
    world.run([client.run for client in clients])
    check(world, clients)
    return world.trace
