"""The anti-join of a listing and reachable hashes, compared with sets."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses import anti_join
from anabranch.pipelines.garbage.addresses.anti_join import compare, filter_dead, is_in
from anabranch.pipelines.garbage.addresses.listing import LISTING, write_listing
from anabranch.pipelines.jobs.progress import NO_PROGRESS

HASHES = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(2**64 - 40, 2**64 - 1)
)


FEW = st.sampled_from([0, 30, anti_join._FEW])
"""So that what is done with many hashes is done with some of the examples."""


@given(st.lists(HASHES, max_size=60), st.sets(HASHES, max_size=60), FEW)
def test_is_in_equals_set_membership(hashes, known, few):
    with mock.patch.object(anti_join, "_FEW", few):
        found = is_in(np.array(hashes, np.uint64), np.array(sorted(known), np.uint64))
    assert found.tolist() == [value in known for value in hashes]


def test_is_in_of_many_hashes_equals_numpy():
    chance = np.random.default_rng(1)
    known = np.unique(chance.integers(0, 2**64 - 1, 200_000, np.uint64))
    hashes = np.concatenate([known[::3], chance.integers(0, 2**64 - 1, 50_000, np.uint64)])
    chance.shuffle(hashes)
    assert (is_in(hashes, known) == np.isin(hashes, known)).all()


NUMBERS = st.sets(st.integers(0, 60))


@given(
    listed=st.lists(NUMBERS, max_size=4),
    young=NUMBERS,
    reachable=st.lists(NUMBERS, max_size=5),
    partition_hashes=st.sampled_from([1, 3, 7, 1 << 25]),
    few=FEW,
)
def test_anti_join_equals_set_differences(
    tmp_path_factory, listed, young, reachable, partition_hashes, few
):
    """Includes names that are in several reachable arrays."""

    def name(number):
        return f"data/{number:020}/{number:020}"

    batches = []
    seen = set()
    for part in listed:
        numbers = sorted(part - seen)
        seen |= part
        columns = {
            "address": [name(number) for number in numbers],
            "size": [1] * len(numbers),
            "mtime": [50 if number in young else 10 for number in numbers],
        }
        batches.append(pa.RecordBatch.from_pydict(columns, schema=LISTING))
    listing = write_listing(tmp_path_factory.mktemp("l") / "l", batches, 20, NO_PROGRESS)
    arrays = [np.sort(hash_addresses(pa.array(map(name, part), pa.string()))) for part in reachable]
    with mock.patch.object(anti_join, "_FEW", few):
        comparison = compare(listing, arrays, NO_PROGRESS, partition_hashes)
    alive = set().union(*reachable)
    dead = {
        address
        for batch in filter_dead(listing, comparison.dead)
        for address in batch.column("address").to_pylist()
    }
    assert dead == {name(number) for number in seen - young - alive}
    absent = hash_addresses(pa.array(map(name, alive - seen), pa.string()))
    assert comparison.absent.tolist() == sorted(absent.tolist())
