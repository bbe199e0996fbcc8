"""A plugin of pytest that skips the tests that are left when the budget of seconds is spent.

Estimates are wrong on a machine at work; a verdict in time says what it does not cover.
"""

from __future__ import annotations

import os
import time

import pytest

__all__ = ["DEADLINE", "pytest_runtest_setup"]

DEADLINE = "ANABRANCH_TEST_DEADLINE"
"""The variable that has the Unix time at which the budget is spent, for all workers."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skips a test that would start after the deadline, before its fixtures are made."""
    if time.time() > float(os.environ[DEADLINE]):
        pytest.skip("left out: the budget of seconds is spent")
