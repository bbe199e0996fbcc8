"""What a planted fault is: a function that changes a world, whose docstring says what it does."""

from __future__ import annotations

from collections.abc import Callable

from simulation.world import World

__all__ = ["Plant", "is_in", "needs"]

Plant = Callable[[World], None]

_needs: dict[str, str] = {}


def needs(kind: str) -> Callable[[Plant], Plant]:
    """Says that a fault shows in worlds of a kind alone, so that it is planted in no others."""

    def note(plant: Plant) -> Plant:
        _needs[plant.__name__] = kind
        return plant

    return note


def is_in(plant: Plant, kind: str) -> bool:
    """Returns whether a fault can show in worlds of a kind."""
    return _needs.get(plant.__name__, kind) == kind
