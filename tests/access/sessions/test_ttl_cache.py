"""Entries of the cache expire by time and are evicted by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.access.sessions.ttl_cache import TTLCache


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_entry_expires_at_its_deadline():
    clock = Clock()
    kept = TTLCache(2, clock)
    kept.put("a", 1, 10.0)
    clock.now = 9.9
    assert kept.get("a") == 1
    assert kept.get_with_deadline("a") == (1, 10.0)
    clock.now = 10.0
    assert kept.get("a") is kept.get_with_deadline("a") is None


@pytest.mark.parametrize("size", [0, -1])
def test_cache_of_size_0_stores_nothing(size):
    kept = TTLCache(size, Clock())
    kept.put("a", 1, 10.0)
    assert kept.get("a") is None


def test_entry_with_a_past_deadline_is_not_stored():
    kept = TTLCache(1, Clock())
    kept.put("a", 1, 10.0)
    kept.put("b", 1, 0.0)
    assert kept.get("a") == 1


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9), st.integers(0, 3))),
)
def test_oldest_entries_are_evicted(size, steps):
    clock, model = Clock(), {}
    kept = TTLCache(size, clock)
    for number, (key, life, wait) in enumerate(steps):
        clock.now += wait
        kept.put(key, number, clock.now + life)
        if life:
            model.pop(key, None)
            model = dict(list(model.items())[-size + 1 :] if size > 1 else [])
            model[key] = (number, clock.now + life)
        for name in "abcdef":
            known = model.get(name)
            expected = known[0] if known and known[1] > clock.now else None
            assert kept.get(name) == expected
