"""A plugin of pytest that skips the tests that are left when the budget of seconds is spent.

Estimates are wrong on a machine at work; a verdict in time says what it does not cover. The seconds
count from the first test of each worker: a machine that is slow to start must test something.
"""

from __future__ import annotations

import os
import time
from functools import cache

import pytest

from support.selection.budget import SECONDS_VARIABLE

__all__ = ["pytest_runtest_setup"]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skips a test that would begin too late, before its fixtures are made."""
    if time.monotonic() > _deadline():
        pytest.skip("left out: the budget of seconds is spent")


@cache
def _deadline() -> float:
    return time.monotonic() + float(os.environ[SECONDS_VARIABLE])
