"""Slices of a listing: they cover all names, and divide the names of typical buckets evenly."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listed_names import first_after_of

from anabranch.spark.planning.listing_slices import cut_names

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
