"""Slices of names are all of them, and share out what a bucket is likely to hold."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listed_names import asked_of

from anabranch.spark.planning.listing_slices import cut_names

LETTERS = st.text(st.sampled_from("ab/0\ud7ff\ue000\U0010ffff"), min_size=1, max_size=8)
NAMES = LETTERS | st.text(min_size=1, max_size=20) | LETTERS.map("same/folder=".__add__)


def lengths(slices, names):
    """Returns how many names are in each slice."""
    ends = [part.last.encode() for part in slices[:-1]]
    found = Counter()
    for name in names:
        place = sum(end < name.encode() for end in ends)
        found[place] += 1
        assert name.encode() > slices[place].after.encode()
    return [found[place] for place in range(len(slices))]


@given(st.sets(NAMES, max_size=60), st.integers(1, 20))
def test_each_name_is_in_one_slice(names, number):
    first_after, _ = asked_of(names)
    slices = cut_names(first_after, number)
    assert (slices[0].after, slices[-1].last) == ("", "")
    borders = [part.last for part in slices[:-1]]
    assert borders == [part.after for part in slices[1:]]
    assert borders == sorted(set(borders), key=str.encode)
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
def test_what_buckets_hold_is_shared_out(names):
    first_after, asked = asked_of(names)
    slices = cut_names(first_after, 64)
    assert 64 <= len(slices) <= 200
    assert max(lengths(slices, names)) < len(names) / 10
    assert len(asked) <= 64 * 24 * 2
