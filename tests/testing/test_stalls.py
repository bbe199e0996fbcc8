"""Tests of time limits: which failures are repeated."""

from __future__ import annotations

import pytest
from support.stalls import repeated_after_stalls


def stall() -> None:
    """Lets no other thread of the process run for a while: it is one operation in C."""
    sum(range(8_000_000))


def test_failure_without_stall_is_raised_at_once():
    attempts = []

    @repeated_after_stalls(60)
    def fail():
        attempts.append(1)
        raise AssertionError("of the program")

    with pytest.raises(AssertionError, match="of the program"):
        fail()
    assert len(attempts) == 1


def test_failure_during_stall_is_repeated():
    attempts = []

    @repeated_after_stalls(0.02)
    def fail_once():
        attempts.append(1)
        stall()
        assert len(attempts) > 1

    fail_once()
    assert len(attempts) == 2


@pytest.mark.slow
def test_failure_that_stays_is_raised_despite_stalls():
    @repeated_after_stalls(0.02)
    def fail():
        stall()
        raise AssertionError("of the program")

    with pytest.raises(AssertionError, match="of the program"):
        fail()
