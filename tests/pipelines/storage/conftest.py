"""A repository in memory, and the clock of its lake."""

from __future__ import annotations

import pytest
from support.garbage import memory_lake

from anabranch.testing.lake import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lake(tmp_path, clock):
    with memory_lake(tmp_path, clock) as lake:
        lake.repositories.create("sea", "mem://sea")
        yield lake
