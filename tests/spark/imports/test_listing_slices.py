"""Slices of a listing: they cover all names, and divide the names of typical buckets evenly."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listed_names import first_after_of

from anabranch.spark.planning.listing_slices import Slice, balanced_slices, cut_names

CHARACTERS = st.text(st.sampled_from("ab/0\ud7ff\ue000\U0010ffff"), min_size=1, max_size=8)
NAMES = CHARACTERS | st.text(min_size=1, max_size=20) | CHARACTERS.map("same/folder=".__add__)


def lengths(slices, names):
    """Returns the number of names in each slice."""
    ends = [part.last.encode() for part in slices[:-1]]
    counts = Counter()
    for name in names:
        index = sum(end < name.encode() for end in ends)
        counts[index] += 1
        assert name.encode() > slices[index].after.encode()
    return [counts[index] for index in range(len(slices))]


@given(st.sets(NAMES, max_size=60), st.integers(1, 20))
def test_each_name_is_in_exactly_one_slice(names, number):
    first_after, _ = first_after_of(names)
    slices = cut_names(first_after, number)
    assert (slices[0].after, slices[-1].last) == ("", "")
    boundaries = [part.last for part in slices[:-1]]
    assert boundaries == [part.after for part in slices[1:]]
    assert boundaries == sorted(set(boundaries), key=str.encode)
    assert sum(lengths(slices, names)) == len(names)
    assert len(slices) <= len(names) + 1


DAYS = [f"warehouse/day=2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]


@pytest.mark.parametrize(
    "names",
    [
        [f"{day}/part-{number:05}.parquet" for day in DAYS for number in range(10)],
        ["warehouse/", *(f"warehouse/file-{number:09}" for number in range(5_000))],
        [f"{number * 2_654_435_761 % (1 << 32):08x}.jpg" for number in range(5_000)],
    ],
    ids=["partitions", "numbers", "hashes"],
)
def test_names_of_typical_buckets_are_divided_evenly(names):
    first_after, requests = first_after_of(names)
    slices = cut_names(first_after, 64)
    assert 64 <= len(slices) <= 200
    assert max(lengths(slices, names)) < len(names) / 10
    assert len(requests) <= 64 * 24 * 2


@given(st.sets(NAMES, max_size=60), st.integers(1, 20), NAMES, NAMES)
def test_slices_of_a_slice_have_its_names(names, number, one, other):
    after, last = sorted((one, other), key=str.encode)
    first_after, _ = first_after_of(names)
    slices = cut_names(first_after, number, Slice(after, last))
    assert (slices[0].after, slices[-1].last) == (after, last)
    boundaries = [after, *(part.last for part in slices)]
    assert boundaries[:-1] == [part.after for part in slices]
    assert boundaries == sorted(boundaries, key=str.encode)
    inside = [name for name in names if after.encode() < name.encode() <= last.encode()]
    assert sum(lengths([*slices, Slice(last, "")], inside)) == len(inside)


def probe_of(names):
    """Returns a function that probes slices, and a list of the numbers of names that it listed."""
    ordered = sorted(names, key=str.encode)
    listed = []

    def probe(slices, limit):
        ends = []
        for part in slices:
            last = part.last.encode()
            own = [
                name
                for name in ordered
                if name.encode() > part.after.encode() and (not last or name.encode() <= last)
            ]
            listed.append(min(len(own), limit + 1))
            ends.append(own[limit - 1] if len(own) > limit else None)
        return ends

    return probe, listed


@given(st.sets(NAMES, max_size=60), st.integers(1, 20), st.integers(1, 10))
def test_each_name_is_in_exactly_one_balanced_slice(names, number, limit):
    first_after, _ = first_after_of(names)
    slices = balanced_slices(first_after, probe_of(names)[0], number, limit)
    assert (slices[0].after, slices[-1].last) == ("", "")
    assert [part.last for part in slices[:-1]] == [part.after for part in slices[1:]]
    assert sum(lengths(slices, names)) == len(names)


SKEWED = {
    "one prefix": [
        *(f"cold-{number:03}/{number}" for number in range(100)),
        *(f"hot/{number:09}" for number in range(9_900)),
    ],
    "one prefix in one prefix": [
        *(f"{chr(97 + number % 26)}/{number}" for number in range(100)),
        *(f"k/{number:02}/x" for number in range(100)),
        *(f"k/07/{number * 2_654_435_761 % (1 << 32):08x}" for number in range(9_800)),
    ],
    "names that differ at their ends": [
        *(f"{number:03}" for number in range(100)),
        *(f"part-{'0' * 40}{number:09}.parquet" for number in range(9_900)),
    ],
}


@pytest.mark.parametrize("names", SKEWED.values(), ids=SKEWED)
def test_prefixes_with_most_of_the_names_are_divided_evenly(names):
    """Cut by names alone, one of a few slices has most of them."""
    first_after, requests = first_after_of(names)
    probe, listed = probe_of(names)
    slices = balanced_slices(first_after, probe, 16, 100)
    assert sum(lengths(slices, names)) == len(set(names))
    assert max(lengths(slices, names)) <= len(names) / 16
    assert len(slices) <= 300
    assert sum(listed) <= 1.1 * len(names)
    assert len(requests) <= 16 * 24 * 30
