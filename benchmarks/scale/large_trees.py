"""Costs by the number of objects of a repository, and by the number of changes of a commit."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bench_lookups
from api_requests import ApiRequests
from bench_commits import value
from bench_lookups import build, key
from load import Load
from proc_stats import cpu_seconds, memory_mib

from anabranch._kernel import Tables, Tree
from anabranch.library import Lake, open_lake
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from anabranch.pipelines.garbage.marking.reachable import Reachability
from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.testing.server import running_server
from scale.figures import Figure, own_mib, repeated, spent

__all__ = ["CHANGES", "look_ups", "make_lake", "of_changes", "of_lake", "of_server"]

CHANGES = (1, 10, 100, 1_000, 10_000)
_COMMITS = 10
_RANGE_BYTES = 5 << 20
_MOST_REWRITTEN = 2 << 30
"""The most bytes of ranges that a tree with changes may have, for the disk's sake."""


def make_lake(folder: Path, objects: int) -> tuple[str, Path]:
    """Makes a lake whose `main` has so many objects, unless the folder has one; returns the id of
    their tree, and the folder of its tables.
    """
    with open_lake(folder, committer="bench") as lake:
        if not lake.repositories.list(amount=1).items:
            lake.repositories.create("sea", "local://sea")
        repository = lake.core.repositories.get("sea")
        tables = Path(lake.core.trees.write_folder(repository))
        tree = build(objects, tables)
        head = lake.core.references.commit(repository, "main")
        if head.generation == 1:
            lake.commits.commit("sea", "main", message="m", source_metarange=tree)
    return tree, tables


def look_ups(folder: Path, objects: int, processes: int = 2) -> Iterator[Figure]:
    """Yields the costs of random look-ups by several processes at once."""
    tree, tables = make_lake(folder, objects)
    measured = bench_lookups.measure(objects, tables, tree, processes)
    for name in measured[0].cpu:
        yield Figure(name, statistics.mean(each.cpu[name] for each in measured), "us")
        yield Figure(
            f"{name}: a second, {processes} processes",
            sum(each.rate[name] for each in measured) / 1e6,
            "million",
        )
    yield Figure("indexes of open tables", measured[0].index_mib, "MiB")


def of_lake(folder: Path, objects: int) -> Iterator[Figure]:
    """Yields the costs of a lake's calls, in this process."""
    make_lake(folder, objects)
    noise = random.Random(1)

    def somewhere() -> str:
        return key(noise.randrange(objects)).decode()

    def stat(lake: Lake, ref: str = "main") -> None:
        lake.objects.stat("sea", ref, somewhere())

    def opened() -> None:
        with open_lake(folder, committer="bench") as lake:
            stat(lake)

    yield from repeated("open a lake, and stat of one object", opened, 5)
    with open_lake(folder, committer="bench") as lake:
        core = lake.core
        repository = core.repositories.get("sea")
        first = core.references.commit(repository, "main").id
        yield from repeated("stat of an object", lambda: stat(lake), 1_000)

        def page() -> None:
            rows = core.objects.listing(repository, first, after=somewhere(), amount=1_000).rows()
            assert rows

        yield from repeated("page of 1,000 objects", page)
        taken = []
        for number in range(_COMMITS):
            lake.objects.upload("sea", "main", f"{somewhere()}-{number}", [b""])
            taken.append(
                spent(lambda: lake.commits.commit("sea", "main", message="m"))  # a new range each
            )
        yield Figure("commit of 1 change", statistics.median(taken) * 1e3, "ms")

        def difference() -> None:
            found = lake.refs.diff("sea", first, "main", amount=100)
            assert len(found.items) == _COMMITS

        yield from repeated(f"difference of {_COMMITS} changes", difference)
        yield from _marking(lake, objects)
        yield Figure("memory of the process", own_mib(), "MiB")


def _marking(lake: Lake, objects: int) -> Iterator[Figure]:
    repository = lake.core.repositories.get("sea")
    installation = StoredInstallation(lake.core, lake.blocks)
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as kept:
        for name in ("marking, each range is read", "marking again"):
            marks = Reachability(
                *(installation, repository, Namespace(("local://sea/",)), Path(kept)),
                *(time.time(), NO_PROGRESS),
            )
            began = time.perf_counter()
            used = spent(marks.mark)
            wall = time.perf_counter() - began
            yield Figure(f"{name}: an object", used / objects * 1e6, "us")
            yield Figure(f"{name}: objects a second", objects / wall / 1e6, "million")


def of_changes(folder: Path, objects: int) -> Iterator[Figure]:
    """Yields the costs of trees with changes that are spread over all objects."""
    base, stored = make_lake(folder, objects)
    tables = Tables(capacity=1 << 16)

    def tree(name: str, *folders: str) -> Tree:
        def locate(table: str) -> str:
            paths = (Path(each, table) for each in (*folders, stored))
            return str(next(path for path in paths if path.exists()))

        return tables.tree(name, locate)

    opened = tree(base)
    for count in CHANGES:
        if count > objects or min(count, objects // 50_000) * _RANGE_BYTES > _MOST_REWRITTEN:
            continue
        numbers = range(objects // count // 2, objects, objects // count)[:count]
        changes = [(key(number), value(number)) for number in numbers]
        with tempfile.TemporaryDirectory(dir=folder, prefix="changed-") as fresh:
            began = time.process_time()
            changed = opened.apply(changes, fresh).metarange_id
            used = time.process_time() - began
            yield Figure(f"tree with {count:,} changes, spread", used * 1e3, "ms")
            other = tree(changed, fresh)
            yield from repeated(
                f"difference of {count:,} changes, page of 1,000",
                partial(opened.diff, other, amount=1_000),
                5,
            )


def of_server(folder: Path, objects: int, seconds: float = 3) -> Iterator[Figure]:
    """Yields the costs of a server: its processor time for a request, and its memory."""
    make_lake(folder, objects)
    noise = random.Random(1)
    with running_server(folder, fresh=True) as server:
        load = Load(server.url)
        api = ApiRequests(load, server.url, server.auth)
        commit = api.call("GET", "/repositories/sea/branches/main")["commit_id"]
        refs = "/repositories/sea/refs"

        def stat(ref: str) -> bytes:
            path = key(noise.randrange(objects)).decode().replace("/", "%2F").replace("=", "%3D")
            return api.request("GET", f"{refs}/{ref}/objects/stat?path={path}")

        def page() -> bytes:
            after = key(noise.randrange(objects * 9 // 10)).decode().replace("/", "%2F")
            return api.request("GET", f"{refs}/{commit}/objects/ls?amount=1000&after={after}")

        for name, make in (
            ("stat at a commit, 16 in flight", lambda: stat(commit)),
            ("stat on a branch, 16 in flight", lambda: stat("main")),
            ("page of 1,000 objects, 16 in flight", page),
        ):
            load.run(make, in_flight=16, count=100)
            before = cpu_seconds(server.pid)
            run = load.run(make, in_flight=16, seconds=seconds)
            used = (cpu_seconds(server.pid) - before) / run.count
            yield Figure(f"server: {name}", used * 1e6, "us")
        yield Figure("server: memory without mapped files", memory_mib(server.pid)[1], "MiB")
