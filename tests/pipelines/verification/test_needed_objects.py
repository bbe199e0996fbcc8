"""The join of needed and listed objects agrees with a plain comparison of sets, in any number of
partitions.
"""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.verification.stores import needed_objects
from anabranch.pipelines.verification.stores.needed_objects import (
    ELSEWHERE,
    READ,
    SUSPECT,
    NeededObjects,
    Needs,
    are_inside,
    distinct_roots,
)
from anabranch.pipelines.verification.stores.spilled_rows import partition_bits

ROOTS = ["s3://a/", "s3://b/x/"]


def needs(entries):
    addresses = pa.array([address for address, _, _ in entries], pa.string())
    return Needs(
        hash_addresses(addresses),
        np.array([size for _, size, _ in entries], np.int64),
        are_inside(addresses, ROOTS),
        np.array([full for _, _, full in entries], np.bool_),
    )


@pytest.mark.parametrize("bits", [0, 1, 5, 8])
def test_marks_agree_with_sets(tmp_path, monkeypatch, bits):
    monkeypatch.setattr(needed_objects, "partition_bits", lambda _: bits)
    chance = random.Random(bits)
    prefixes = [*ROOTS, "s3://b/", "s3://c/"]
    entries = [
        (f"{chance.choice(prefixes)}{chance.randrange(300)}", chance.randrange(3), False)
        for _ in range(2000)
    ]
    stored = {
        (address, size)
        for address, size, _ in set(entries)
        if address.startswith(tuple(ROOTS)) and chance.random() < 0.7
    }
    listed = dict(stored)  # one size for each address
    needed = NeededObjects(tmp_path, ROOTS, len(entries))
    for start in range(0, len(entries), 600):
        needed.need(needs(entries[start : start + 600]))
    names = sorted(listed)
    needed.list(pa.array(names), pa.array([listed[name] for name in names], pa.int64()))
    marks = needed.mark(None, 7, elsewhere=None)
    assert marks.objects == len({entry[:2] for entry in entries})
    found = {}
    for entry, mark in zip(entries, marks.flags.tolist(), strict=True):
        if mark:
            assert entry[:2] not in found, "one entry is marked for each object"
            found[entry[:2]] = mark
    for address, size, _ in entries:
        inside = address.startswith(tuple(ROOTS))
        present = READ if listed.get(address) == size else SUSPECT
        assert found[address, size] == (present if inside else ELSEWHERE)


def test_an_entry_with_a_relative_address_is_read_in_place_of_a_full_one(tmp_path):
    needed = NeededObjects(tmp_path, ROOTS, 2)
    entries = [("s3://a/1", 5, True), ("s3://a/1", 5, False)]
    needed.need(needs(entries))
    needed.list(pa.array(["s3://a/1"]), pa.array([5], pa.int64()))
    assert needed.mark(None, 0).flags.tolist() == [0, READ]


def test_a_sample_has_its_size_and_differs_by_seed(tmp_path):
    chosen = set()
    for seed in range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        needed = NeededObjects(folder, ROOTS, 1000)
        names = [f"s3://a/{number}" for number in range(1000)]
        needed.need(needs([(name, 1, False) for name in names]))
        needed.list(pa.array(names), pa.array([1] * 1000, pa.int64()))
        flags = needed.mark(10, seed).flags
        assert np.count_nonzero(flags == READ) == 10
        chosen.add(tuple(np.flatnonzero(flags).tolist()))
    assert len(chosen) == 5


def test_no_entries_have_no_marks(tmp_path):
    assert len(NeededObjects(tmp_path, [], 0).mark(10, 1).flags) == 0


def test_roots_begin_with_no_other():
    assert distinct_roots(["s3://b/", "s3://b/x/", "s3://a/", "s3://b/"]) == ["s3://a/", "s3://b/"]


def test_partitions_grow_with_the_rows():
    assert partition_bits(0) == 0
    assert partition_bits(200_000_000) == 7
    assert partition_bits(10**12) == 8
