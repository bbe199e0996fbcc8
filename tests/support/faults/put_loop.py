"""A process that puts small blocks into a local store until it is killed.

    python -m anabranch.testing.putting ROOT FIRST THREADS JOURNAL_BYTES

Blocks are numbered from FIRST. It prints the number of each once its put has returned.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading

from anabranch.blocks.local.store import LocalBlocks

__all__ = ["address_of", "body_of"]

_SIZES = (0, 1, 100, 1_024, 5_000)


def body_of(number: int) -> bytes:
    """Returns the body of the block of a number."""
    chance = random.Random(number)
    return chance.randbytes(chance.choice(_SIZES))


def address_of(number: int) -> str:
    """Returns the address of the block of a number."""
    return f"local://space/data/{number // 700}/{number}"


def _main(root: str, first: int, threads: int, journal_bytes: int) -> None:
    """Puts blocks until it is killed."""
    store = LocalBlocks(root, journal_bytes=journal_bytes)
    numbers = itertools.count(first)

    def put() -> None:
        for number in numbers:
            store.put(address_of(number), [body_of(number)], unique_address=True)
            os.write(1, b"%d\n" % number)

    for _ in range(threads):
        threading.Thread(target=put, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    _main(sys.argv[1], *map(int, sys.argv[2:]))
