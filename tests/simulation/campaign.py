"""Prints the planted faults, and the first seed that finds each: the rows of docs/reliability.md.

PYTHONPATH=src:tests python -m simulation.campaign
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from simulation.histories import seeds_of, simulate
from simulation.planted.faults import PLANTED
from simulation.planted.plant import Plant
from support.memory_folder import MEMORY_FOLDER

__all__ = ["first_seed", "meaning"]


def meaning(plant: Plant) -> str:
    """Returns what a planted fault is, in a sentence."""
    return " ".join((plant.__doc__ or "").split()).rstrip(".")


def first_seed(cache: Path, plant: Plant) -> int | None:
    """Returns the first seed that finds a planted fault, None if none does."""
    for seed in seeds_of(plant):
        try:
            simulate(cache, seed, plant)
        except Exception:  # noqa: BLE001  however it shows
            return seed
    return None


def main() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as cache:
        for plant in PLANTED:
            print(f"| {meaning(plant)} | {first_seed(Path(cache), plant)} |", flush=True)


if __name__ == "__main__":
    main()
