"""Random histories of several servers with faults: nothing acknowledged is lost.

A seed that fails is run again by `ANABRANCH_SEED=123 pytest tests/simulation -k seed`.
"""

from __future__ import annotations

import gc
import os
import re
import tempfile
from pathlib import Path

import pytest
from simulation.campaign import first_seed, meaning
from simulation.histories import SEEDS_OF_A_PLANT, seeds_of, simulate
from simulation.planted.faults import PLANTED
from support.memory_folder import MEMORY_FOLDER

SEEDS_OF_A_TEST = 25
SEEDS = 300
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


@pytest.fixture(autouse=True)
def collected_at_the_end():
    """Frees what the servers have left, such as tables that they have mapped: at the end, and
    seldom meanwhile, because hardly anything is left for Python's garbage collector.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(20_000, 50, 50)
    yield
    gc.set_threshold(*thresholds)
    gc.collect()


def check_seeds(folder, seeds):
    for seed in seeds:
        try:
            simulate(folder, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as path:
        yield Path(path)


@pytest.mark.skipif("ANABRANCH_SEED" not in os.environ, reason="no seed is named")
@pytest.mark.slow
def test_a_seed(folder):
    simulate(folder, int(os.environ["ANABRANCH_SEED"]))


@pytest.mark.parametrize("first", range(0, SEEDS, SEEDS_OF_A_TEST))
def test_nothing_acknowledged_is_lost(folder, first):
    check_seeds(folder, range(first, first + SEEDS_OF_A_TEST))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, 10_000, 100))
def test_nothing_acknowledged_is_lost_in_many_histories(folder, first):
    check_seeds(folder, range(first, min(first + 100, 10_000)))


@pytest.mark.sample(5)
@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(folder, plant):
    """The world finds what it is there to find: without the fault, the same seeds pass."""
    if not seeds_of(plant):
        pytest.skip("the model of a disk needs Linux")
    found = first_seed(folder, plant)
    assert found is not None, f"{plant.__name__} is not found by {SEEDS_OF_A_PLANT} seeds"


def test_the_page_has_all_planted_faults_and_no_others():
    section = PAGE.read_text("utf-8").partition("| Planted fault |")[2].partition("\n\n")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines()[2:]]
    assert rows == [meaning(plant) for plant in PLANTED]


def test_the_tests_of_the_page_exist():
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE.read_text("utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (PAGE.parents[1] / path).is_file()] == []


@pytest.mark.parametrize("seed", range(14, 22))
def test_a_seed_runs_the_same_way_again(folder, seed):
    first = simulate(folder, seed)
    assert simulate(folder, seed) == first
    assert len(first) > 100
