"""Fixtures: a lake in memory with a manual clock, a collector for it, and repositories over stores
that support quarantine.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.garbage import memory_lake
from support.quarantine import QuarantineScenario

from anabranch.blocks.local.store import LocalBlocks
from anabranch.library import Lake
from anabranch.pipelines.garbage.collector import Collector
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
def collector(lake: Lake, tmp_path: Path, clock: Clock) -> Collector:
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=clock)


@pytest.fixture
def local_scenario(tmp_path: Path) -> Callable[..., QuarantineScenario]:
    """Creates a `QuarantineScenario` in its own local folder."""

    def make(name: str = "sea") -> QuarantineScenario:
        return QuarantineScenario(
            tmp_path / name, LocalBlocks(tmp_path / name / "blocks"), "local://sea"
        )

    return make


@pytest.fixture(params=["local", "s3"])
def make_scenario(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[..., QuarantineScenario]:
    """Creates a `QuarantineScenario` in its own local folder or versioned bucket."""
    if request.param == "local":
        return request.getfixturevalue("local_scenario")
    service = request.getfixturevalue("s3_service")
    bucket = f"quarantine-{uuid.uuid4()}"
    service.make_bucket(bucket)
    service.set_versioning(bucket)
    return lambda name="sea": QuarantineScenario(
        tmp_path / name, service.blocks(), f"s3://{bucket}/{name}"
    )
