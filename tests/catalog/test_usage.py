"""Usage counts by month, of several processes."""

from __future__ import annotations

import pytest

from anabranch.catalog.usage import Usage
from anabranch.errors import OutcomeUnknown
from anabranch.keyvalue.memory import MemoryStore
from anabranch.testing.lake import Clock, lake_in
from anabranch.versioning.usage import UsageCounts

DECEMBER_31 = 1_704_067_199.0  # a second before 2024, UTC


@pytest.fixture
def clock():
    return Clock(DECEMBER_31)


@pytest.fixture
def core(tmp_path, clock):
    with lake_in(tmp_path, clock) as lake:
        yield lake.core


def test_requests_are_counted_in_the_month_in_which_they_are_stored(core, clock):
    usage = Usage(core, clock)
    assert usage.report() == []
    usage.requests += 3
    assert usage.report() == [(2023, 12, 3)]
    clock.advance(1)
    usage.requests += 4
    assert usage.report() == [(2023, 12, 3), (2024, 1, 4)]
    assert usage.report() == [(2023, 12, 3), (2024, 1, 4)]


def test_the_requests_of_all_processes_are_added(core, clock):
    processes = [Usage(core, clock) for _ in range(3)]
    for number, usage in enumerate(processes):
        usage.requests += 10**number
        usage.flush()
    assert processes[0].report() == [(2023, 12, 111)]


def test_a_lake_that_is_closed_stores_its_count(tmp_path, clock):
    store = MemoryStore()
    with lake_in(tmp_path, clock, store) as lake:
        lake.usage.requests += 5
    assert UsageCounts(store).all() == [(2023, 12, 5)]


def test_an_unknown_outcome_counts_nothing_twice(core, clock):
    class LosesAnswers(MemoryStore):
        def apply(self, writes, expect=()):
            super().apply(writes, expect)
            raise OutcomeUnknown("the answer was lost")

    store = LosesAnswers()
    core.usage_counts = UsageCounts(store)
    usage = Usage(core, clock)
    usage.requests += 5
    with pytest.raises(OutcomeUnknown):
        usage.flush()
    assert usage.report() == [(2023, 12, 5)]
