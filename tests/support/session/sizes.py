"""Sizes by tier: random histories, races and sweeps that are longer once a week."""

from __future__ import annotations

import os

WEEKLY = bool(os.environ.get("ANABRANCH_ALL_EXAMPLES"))  # set by `make test-all`


def sized(usual: int, *, weekly: int) -> int:
    """Returns how many rounds, rows or steps a test takes: `weekly` in `make test-all`."""
    return weekly if WEEKLY else usual
