"""A lake in memory with a clock that the test moves, and a collector over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.library import Lake
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.garbage import memory_lake
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
