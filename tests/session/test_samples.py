"""Samples: some cases of a test run each time, the others once a week."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

CONFTEST = """
import pytest
from support.session.tiers import mark_tiers


def pytest_collection_modifyitems(items):
    mark_tiers(items)
    for item in items:
        print("slow" if item.get_closest_marker("slow") else "quick", item.name)
"""
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(10))
@pytest.mark.sample(1)
def test_one_of_ten(number):
    pass

@pytest.mark.parametrize("number", range(10))
@pytest.mark.sample(3)
def test_three_of_ten(number):
    pass

@pytest.mark.parametrize("number", range(10))
@pytest.mark.sample(10)
def test_ten_of_ten(number):
    pass

@pytest.mark.parametrize("number", range(10))
@pytest.mark.sample(12)
def test_twelve_of_ten(number):
    pass

@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow), 2, 3])
@pytest.mark.sample(1)
def test_a_case_or_a_sweep(number):
    pass

SYSTEMS = [pytest.param(number, marks=pytest.mark.systems) for number in range(4, 8)]

@pytest.mark.parametrize("number", [*range(4), *SYSTEMS])
@pytest.mark.sample(3)
def test_cases_of_two_tiers(number):
    pass

def test_one():
    pass
"""
KEPT = {
    "test_one_of_ten": [0],
    "test_three_of_ten": [0, 3, 6],
    "test_ten_of_ten": range(10),
    "test_twelve_of_ten": range(10),
    "test_a_case_or_a_sweep": [0],
    "test_cases_of_two_tiers": [0, 1, 2, 4, 5, 6],
}


def test_cases_of_a_sample_are_spread_over_all_and_the_others_are_slow(tmp_path):
    found = collected(tmp_path)
    quick = [f"{name}[{case}]" for name, cases in KEPT.items() for case in cases]
    assert [name for tier, name in found if tier == "quick"] == [*quick, "test_one"]
    assert len(found) == 4 * 10 + 4 + 8 + 1


def collected(folder: Path) -> list[list[str]]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    options = ["-qq", "--collect-only", "-s", "-p", "no:cacheprovider", "-W", "ignore"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_it.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split() for line in re.findall("^(?:slow|quick) .*$", run.stdout, re.MULTILINE)]
