"""A lake in memory with a repository `sea`, whose objects may be purged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.garbage import memory_lake

from anabranch.errors import NotFound
from anabranch.library import Lake
from anabranch.model.repositories.purge import LeftNamespace, PurgeResult
from anabranch.pipelines.purges.purge import purge_namespace
from anabranch.testing.lake import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lake(tmp_path: Path, clock: Clock) -> Iterator[Lake]:
    with memory_lake(tmp_path, clock) as lake:
        lake.repositories.create("sea", "mem://sea")
        yield lake


@pytest.fixture
def purge(lake: Lake, clock: Clock) -> Callable[..., PurgeResult]:
    """Deletes a repository with its data, or purges the namespace of one that was deleted."""

    def purge(name: str = "sea", advance: Callable[[int], None] = lambda _: None) -> PurgeResult:
        records = lake.core.repositories.left
        found = [left for left in records.all() if left.repository == name]
        try:
            stored = lake.core.repositories.get(name)
        except NotFound:
            return purge_namespace(
                *(lake.core, lake.blocks, found[0], lambda: found[0]), advance=advance, clock=clock
            )
        left = LeftNamespace(
            storage_namespace=stored.storage_namespace,
            written_namespace=stored.shown_namespace,
            repository=stored.id,
            instance_uid=stored.instance_uid,
            default_branch=stored.default_branch,
            deleted_at=clock(),
        )

        def delete() -> LeftNamespace:
            lake.repositories.delete(name, force=True, instance_uid=stored.instance_uid)
            return records.find(stored.storage_namespace) or left

        return purge_namespace(
            *(lake.core, lake.blocks, left, delete), advance=advance, clock=clock
        )

    return purge
