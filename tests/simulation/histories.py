"""Histories of a simulated world: each by a seed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from simulation import imports, moves, requests
from simulation.checks import check
from simulation.client import REPOSITORY, Client
from simulation.garbage import GarbageCollector, leave
from simulation.installations import DatabaseWorld, FolderWorld
from simulation.planted.plant import Plant, is_in
from simulation.world import Actor, World

__all__ = ["SEEDS_OF_A_PLANT", "kind_of", "seeds_of", "simulate"]

SEEDS_OF_A_PLANT = 200
"""A planted fault must be found by one of so many seeds."""

_ON_DISK = "folder" if sys.platform == "linux" else "buckets"  # the model of a disk needs /proc
KINDS = ("buckets", "garbage", "moves", _ON_DISK, "database", "jobs", "requests", "expired")
"""The kinds of worlds: that of a seed is the one at its remainder."""

_MACHINE: type[World] = FolderWorld if _ON_DISK == "folder" else World
_WORLDS: dict[str, tuple[type[World], ...]] = {
    "folder": (_MACHINE,),
    "database": (DatabaseWorld,),
    "garbage": (World, _MACHINE),
    "moves": (World, _MACHINE, DatabaseWorld),
    "jobs": (World, _MACHINE, DatabaseWorld),
}
"""The stores of a kind's worlds, one after the other. Those of others are buckets."""

_SHARING = ("buckets", "requests")
"""The kinds of worlds in which two clients have one server: changes of a branch then follow one
another before they are written.
"""
_COLLECTED = ("garbage", "expired")
"""The kinds of worlds in which garbage is collected."""
_CLIENTS = 3
_ACTIONS = {"database": 30, "garbage": 14, "expired": 8, "jobs": 9}
_ACTIONS_OF_OTHERS = 12


def kind_of(seed: int) -> str:
    """Returns of which kind the world of a seed is."""
    return KINDS[seed % len(KINDS)]


def _world_of(seed: int) -> type[World]:
    worlds = _WORLDS.get(kind_of(seed), (World,))
    return worlds[seed // len(KINDS) % len(worlds)]


def seeds_of(plant: Plant) -> list[int]:
    """Returns the seeds of which one must find a planted fault."""
    return [seed for seed in range(SEEDS_OF_A_PLANT) if is_in(plant, kind_of(seed))]


def simulate(folder: Path, seed: int, plant: Plant | None = None) -> list[str]:
    """Runs the world of a seed, and checks it; returns what happened, call by call. Its caches are
    in a folder, which is empty afterwards.
    """
    cache = folder / str(seed)
    try:
        with _world_of(seed)(cache, seed) as world:
            return _simulate(world, kind_of(seed), plant)
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def _simulate(world: World, kind: str, plant: Plant | None) -> list[str]:
    lake = world.server(skew=0.0).lake
    lake.repositories.create(REPOSITORY, world.namespace, committer="first")
    world.kind = kind
    if kind == "requests":
        requests.prepare(lake)
    if kind == "moves":
        moves.prepare(lake)
    if kind == "jobs":
        imports.prepare(world, lake)
    if kind in _COLLECTED:
        world.leavings = leave(world, lake, [f"c{number}" for number in range(_CLIENTS)])
    lake.branches.create(REPOSITORY, "dev", "main")
    if plant is not None:
        plant(world)
    actions = _ACTIONS.get(kind, _ACTIONS_OF_OTHERS)
    clients = [Client(world, 0, actions)]
    for number in range(1, _CLIENTS):
        beside = clients[0] if kind in _SHARING and number == 1 else None
        clients.append(Client(world, number, actions, beside))
    for client in clients:
        client.peers = clients
    actors: list[Actor] = [*clients]
    if kind in _COLLECTED:
        actors.append(GarbageCollector(world))
    world.run(actors)
    world.end()
    check(world, clients)
    return world.trace
