"""Costs by the number of staged changes of a branch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from bench_staged_deletions import BATCH, fill, path

from anabranch.library import open_lake
from scale.figures import Figure, own_mib, repeated, spent

__all__ = ["of_staged"]


def of_staged(folder: Path, staged: int) -> Iterator[Figure]:
    """Yields the costs of a branch on which all objects but one are deleted, without a commit."""
    with open_lake(folder, committer="bench") as lake:
        fill(lake, staged + 1)
        repository = lake.core.repositories.get("sea")

        def delete() -> None:
            for first in range(0, staged, BATCH):
                last = min(first + BATCH, staged)
                lake.objects.delete_many("sea", "main", [path(n) for n in range(first, last)])

        yield Figure("a deletion is staged", spent(delete) / staged * 1e6, "us")

        def page() -> None:
            ((key, _),) = lake.core.objects.listing(repository, "main", amount=100).rows()
            assert key == path(staged).encode()

        yield Figure("the first page behind them", spent(page) * 1e3, "ms")
        time.sleep(3)  # the thread that builds trees of staged changes looks twice a second
        yield from repeated("page behind them", page)
        yield Figure("memory of the process", own_mib(), "MiB")
        used = spent(lambda: lake.commits.commit("sea", "main", message="m"))
        yield Figure("commit: a change", used / staged * 1e6, "us")
