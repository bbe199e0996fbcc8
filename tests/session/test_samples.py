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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_tiers(items)
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

def test_one():
    pass
"""
KEPT = {
    "test_one_of_ten": [0],
    "test_three_of_ten": [0, 3, 6],
    "test_ten_of_ten": range(10),
    "test_twelve_of_ten": range(10),
    "test_a_case_or_a_sweep": [0],
}


def test_cases_of_a_sample_are_spread_over_all_and_the_others_are_slow(tmp_path):
    quick = [f"{name}[{case}]" for name, cases in KEPT.items() for case in cases]
    assert collected(tmp_path, "not slow") == [*quick, "test_one"]
    slow = collected(tmp_path, "slow")
    assert {*slow}.isdisjoint({*quick, "test_one"})
    assert len({*slow, *quick}) == 4 * 10 + 4


def collected(folder: Path, marks: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    options = ["-q", "--collect-only", "-p", "no:cacheprovider", "-m", marks]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_it.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return re.findall(r"^test_it\.py::(\S+)$", run.stdout, re.MULTILINE)
