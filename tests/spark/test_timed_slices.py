"""Slices of a listing: they cover all names, and there are as many as requested if possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listed_names import first_after_of

from anabranch.spark.planning.listing_slices import Slice
from anabranch.spark.planning.timed_slices import cut_listing
from anabranch.versioning.identifiers import Identifiers

DIGITS = "0123456789abcdefghijklmnopqrstuv"
NAMES = st.text(DIGITS, min_size=20, max_size=20) | st.text(max_size=20)


def within(part, names):
    last = part.last.encode()
    return [
        name
        for name in names
        if name.encode() > part.after.encode() and (not last or name.encode() <= last)
    ]


@given(st.sets(NAMES.filter(bool), max_size=60), st.integers(1, 20))
def test_each_name_is_in_exactly_one_slice(names, number):
    first_after, requests = first_after_of(names)
    slices = cut_listing(first_after, number)
    assert bool(names) <= len(slices) <= number
    if names:
        assert (slices[0].after, slices[-1].last) == ("", "")
    assert [part.last for part in slices[:-1]] == [part.after for part in slices[1:]]
    assert sum(len(within(part, names)) for part in slices) == len(names)
    assert len(requests) <= 4 * number + 66


@pytest.mark.parametrize("hours", [24, 24 * 365 * 3])
def test_slices_of_generated_names_have_about_equal_sizes(hours):
    now = 1_700_000_000.0
    identifiers = Identifiers(lambda: now)
    names = []
    for _ in range(hours):
        now += 3600
        names.append(identifiers.descending_xid())
    first_after, _ = first_after_of(names)
    slices = cut_listing(first_after, 16)
    assert len(slices) == 16
    assert all(1 <= len(within(part, names)) <= len(names) / 6 for part in slices)


@given(st.sets(NAMES.filter(bool), max_size=60), st.integers(1, 20), NAMES, NAMES)
def test_slices_of_a_slice_have_its_names(names, number, one, other):
    after, last = sorted((one, other), key=str.encode)
    first_after, _ = first_after_of(names)
    whole = Slice(after, last)
    slices = cut_listing(first_after, number, whole)
    expected = within(whole, names)
    assert bool(expected) <= len(slices) <= number
    assert sum(len(within(part, names)) for part in slices) == len(expected)
    assert all(set(within(part, names)) <= set(expected) for part in slices)


def test_names_of_one_hour_are_divided_when_they_are_most_of_a_slice():
    """As a task finds out that stops after some of them."""
    now = 1_700_000_000.0
    identifiers = Identifiers(lambda: now)
    names = [identifiers.descending_xid() for _ in range(5)]
    now += 24 * 3600 * 365
    dense = []
    for _ in range(1800):
        now += 2
        dense.append(identifiers.descending_xid())
    first_after, _ = first_after_of([*names, *dense])
    fullest = max(cut_listing(first_after, 4), key=lambda part: len(within(part, dense)))
    listed = sorted(within(fullest, dense))[:100]
    rest = cut_listing(first_after, 8, Slice(listed[-1], fullest.last))
    assert len(rest) == 8
    left = len(within(fullest, dense)) - len(listed)
    assert all(1 <= len(within(part, dense)) <= left / 3 for part in rest)
