"""For tests of garbage collection: a lake in memory, what is in its store and in candidates, lives
at random, and a store that refuses.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import AnabranchError, Denied, NoChanges
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock
from anabranch.testing.stores import FaultyBlocks, fail_at

__all__ = [
    "DAY",
    "RefusingStore",
    "addresses",
    "aged",
    "commit",
    "found",
    "live_at_random",
    "memory_lake",
    "put",
    "refer_to_lost",
    "stored",
]

DAY = 86_400


def memory_lake(folder: str | os.PathLike[str], clock: Clock) -> Lake:
    """Returns a lake in memory whose objects are as old as the clock says; only its cache lies in
    a folder.
    """
    return Lake(
        MemoryStore(),
        MemoryBlocks(clock=clock),
        cache_folder=Path(folder) / "cache",
        signing_secret=b"a secret of tests",
        clock=clock,
        undo_days=0,  # what a branch leaves is garbage at once
    )


def addresses(batches: Iterable[pa.RecordBatch]) -> set[str]:
    """Returns the addresses of candidates or of a listing."""
    return {name for batch in batches for name in batch.column("address").to_pylist()}


def stored(lake: Lake, namespace: str) -> set[str]:
    """Returns what a store holds in a namespace, by relative address."""
    stem = f"{namespace}/"
    return {block.address.removeprefix(stem) for block in lake.blocks.list(stem)}


_bodies = itertools.count()


def put(
    lake: Lake, path: str, branch: str = "main", body: bytes | None = None, repository: str = "sea"
) -> str:
    """Uploads an object, if need be one like no other, and returns its relative address."""
    content = b"%d" % next(_bodies) if body is None else body
    return lake.objects.upload(repository, branch, path, [content]).entry.address


def commit(lake: Lake, branch: str = "main") -> Commit:
    """Commits what is staged in `sea`."""
    return lake.commits.commit("sea", branch, committer="me", message="m")


def found(collector: Collector, **options: Any) -> set[str]:
    """Returns the candidates of a run that removes nothing."""
    with collector.mark("sea", **options) as run:
        return addresses(run.candidates())


def aged(lake: Lake, namespace: str) -> None:
    """Makes all objects of a namespace in a local store look a month old."""
    then = time.time() - 30 * DAY
    for name in stored(lake, namespace):
        if name.startswith("data/"):
            path = lake.blocks.local_path(f"{namespace}/{name}")
            assert path is not None, "the store is not local"
            os.utime(path, (then, then))


def refer_to_lost(lake: Lake, namespace: str, chance: random.Random) -> set[str]:
    """Stages and commits objects in the repositories `sea`, which has the namespace, and `land`,
    and returns the addresses of those that the store does not have. All are named as in 2022: a run
    does not miss objects that were named in the last hour.
    """
    lost = set()
    for repository in ("sea", "land"):
        lake.branches.create(repository, "dev", "main", hidden=repository == "land")
    for number in range(40):
        branch = chance.choice(("main", "dev"))
        address = f"data/{'c' * 20}/{'c' * 17}{number:03}"
        there = chance.random() < 0.5
        if there:
            lake.blocks.put(f"{namespace}/{address}", [b"1"])
        lake.staging.stage(
            *(chance.choice(("sea", "land")), branch, f"p/{chance.randrange(20)}"),
            address=f"{namespace}/{address}",
            checksum="0" * 32,
            size=1,
        )
        if not there:
            lost.add(address)
        if number % 7 == 0:
            for repository in ("sea", "land"):
                with suppress(NoChanges):
                    lake.commits.commit(repository, branch, message="m", committer="c")
    lake.uploads.create("sea", "main", "big")
    return lost


class RefusingStore:
    """Opens the local store in `root`, which then removes some objects and refuses the next one.
    It can be pickled: each task opens it again.
    """

    def __init__(self, root: str, number: int) -> None:
        self._root = root
        self._number = number

    def __call__(self) -> BlockStore:
        """Returns the store."""
        refusal = Denied("no more today", kind="storage_denied")
        return FaultyBlocks(LocalBlocks(self._root), fail_at("delete", self._number, refusal))


def live_at_random(lake: Lake, chance: random.Random, steps: int) -> None:
    """Does so many things of all kinds in the repository `sea` of a lake, which another, `land`,
    borrows objects from.
    """
    for number in range(steps):
        branch = chance.choice(("main", "main", "dev", "x"))
        path = chance.choice(("a", "b", "c/d", "c/e", "f"))
        with suppress(AnabranchError):
            _live(lake, chance, branch, path, number)
    lake.objects.upload("sea", "main", "left", [b"a"])
    lake.objects.upload("sea", "main", "left", [b"b"])


def _live(lake: Lake, chance: random.Random, branch: str, path: str, number: int) -> None:
    """Does one thing, which may be impossible."""
    kind = chance.choice(("upload",) * 5 + ("commit",) * 2 + ("branch", "merge", "leave", "borrow"))
    if kind == "upload":
        lake.objects.upload("sea", branch, path, [b"%d" % number])
    elif kind == "commit":
        # dates lie far back, so that rules of days have let them go
        date = 1_600_000_000 + number * DAY // 4
        lake.commits.commit("sea", branch, message="m", committer="c", date=date)
    elif kind == "branch":
        lake.branches.create("sea", branch, "main")
        lake.uploads.create("sea", branch, path)
    elif kind == "merge":
        lake.refs.merge("sea", branch, "main", committer="c", strategy="source-wins")
        lake.tags.create("sea", f"t{number}", f"{branch}~1")
    elif kind == "leave":
        lake.garbage_rules.set("sea", RetentionRules(chance.randrange(9)))
        lake.branches.delete("sea", branch)
    else:
        found = lake.objects.stat("sea", branch, path)
        lake.staging.stage(
            *("land", "main", path),
            address=found.physical_address,
            checksum=found.entry.checksum,
            size=found.entry.size,
        )
