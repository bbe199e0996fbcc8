"""Samples: some cases of a test run each time, the others once a week."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
@pytest.mark.sample({size})
def test_a_case(number):
    pass


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow), 2, 3])
@pytest.mark.sample(1)
def test_a_case_or_a_sweep(number):
    pass


def test_one():
    pass
"""


@pytest.mark.parametrize(
    ("size", "cases"), [(1, [0]), (3, [0, 3, 6]), (10, range(10)), (12, range(10))]
)
def test_cases_of_a_sample_are_spread_over_all(tmp_path, size, cases):
    expected = [f"test_a_case[{case}]" for case in cases]
    assert collected(tmp_path, size, "not slow") == [
        *expected,
        "test_a_case_or_a_sweep[0]",
        "test_one",
    ]


def test_what_is_not_in_a_sample_is_slow(tmp_path):
    assert len(collected(tmp_path, 3, "slow")) == 7 + 3
    assert len(collected(tmp_path, 3, "slow or not slow")) == 10 + 4 + 1


def collected(folder: Path, size: int, marks: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS.format(size=size))
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
