"""All planted faults."""

from __future__ import annotations

from simulation.planted import collections, disks, stores
from simulation.planted.plant import Plant

__all__ = ["PLANTED"]

PLANTED: tuple[Plant, ...] = (*stores.PLANTED, *collections.PLANTED, *disks.PLANTED)
