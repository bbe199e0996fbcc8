"""Costs by the length of the history, and by the number of branches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench_history import BATCH, History, ancestor, base, last_of_objects, last_page, log_of_path
from bench_history import path as history_path

from anabranch.library import Lake, open_lake
from anabranch.model.references.branch import Branch
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from scale.figures import Figure, own_mib, repeated, spent

__all__ = ["of_branches", "of_history"]


def of_history(folder: Path, commits: int) -> Iterator[Figure]:
    """Yields the costs of walks over so many commits."""
    with open_lake(folder) as lake:
        History(lake, commits)
    far = commits * 9 // 10
    with open_lake(folder) as lake:
        core = lake.core
        yield from repeated("main~N, N nine tenths of the history", lambda: ancestor(core, far))
        yield from repeated("page of 1,000 commits near the end", lambda: last_page(lake, commits))
        yield from repeated("merge base, half the history away", lambda: base(core))
        name = history_path(7, "a").decode()
        yield from repeated(
            "log of an object that changed at the beginning",
            lambda: next(log_of_path(core, name)),
        )
        yield from repeated("last change of an object", lambda: last_of_objects(core, 1))
        repository = core.repositories.get("bench")
        installation = StoredInstallation(core, lake.blocks)
        used = [spent(lambda: installation.roots(repository, 0)) for _ in range(3)]
        for name, seconds in (("first", used[0]), ("later", used[2])):
            each = seconds / commits * 1e6
            yield Figure(f"a collection's {name} pass over the commits: each", each, "us")
        yield Figure("memory of the process", own_mib(), "MiB")


def of_branches(folder: Path, branches: int) -> Iterator[Figure]:
    """Yields the costs of a repository with so many branches."""
    with open_lake(folder, committer="bench") as lake:
        _create(lake, branches)
        names = (f"new-{number}" for number in range(10**6))

        def create() -> None:
            lake.branches.create("sea", next(names), "main")

        def page() -> None:
            after = f"branch-{branches // 2:06d}"
            assert lake.branches.list("sea", after=after, amount=100).items

        def commit() -> None:
            lake.objects.upload("sea", "main", next(names), [b""])
            lake.commits.commit("sea", "main", message="m")

        yield from repeated("create a branch", create)
        yield from repeated("page of 100 branches", page)
        yield from repeated("put and commit of 1 object", commit)
        made = (branch.id for branch in lake.branches.list("sea", prefix="new-", amount=100).items)
        yield from repeated("delete a branch", lambda: lake.branches.delete("sea", next(made)))
        repository = lake.core.repositories.get("sea")
        installation = StoredInstallation(lake.core, lake.blocks)
        each = spent(lambda: installation.roots(repository, 0)) / branches * 1e6
        yield Figure("a collection's pass over the references: each branch", each, "us")
        yield Figure("memory of the process", own_mib(), "MiB")


def _create(lake: Lake, branches: int) -> None:
    """Creates branches, a thousand by a write."""
    lake.repositories.create("sea", "local://sea")
    core = lake.core
    repository = core.repositories.get("sea")
    head = core.references.commit(repository, "main").id
    for start in range(0, branches, BATCH):
        made = (
            Branch(id=f"branch-{n:06d}", commit_id=head, staging_token=f"sea-b:{n:032x}")
            for n in range(start, min(branches, start + BATCH))
        )
        lake.keyvalue.apply([core.branches.write(repository, branch) for branch in made])
