"""All planted faults."""

from __future__ import annotations

from simulation.planted import databases, disks, jobs, mechanisms, moves, stores, sweeps
from simulation.planted.plant import Plant

__all__ = ["PLANTED"]

PLANTED: tuple[Plant, ...] = (
    *stores.PLANTED,
    *sweeps.PLANTED,
    *disks.PLANTED,
    *databases.PLANTED,
    *mechanisms.PLANTED,
    *moves.PLANTED,
    *jobs.PLANTED,
)
