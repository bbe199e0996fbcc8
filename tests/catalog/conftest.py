"""A lake in a temporary folder, with a clock that the tests control."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.library import Lake
from anabranch.testing.lake import Clock, lake_in


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lake(tmp_path: Path, clock: Clock) -> Iterator[Lake]:
    with lake_in(tmp_path, clock) as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake
