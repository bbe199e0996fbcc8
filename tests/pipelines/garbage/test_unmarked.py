"""Which hashes are unknown, against sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.pipelines.garbage.unmarked import is_in

HASHES = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(0, 40), st.integers(2**64 - 40, 2**64 - 1)
)


@given(st.lists(HASHES, max_size=60), st.sets(HASHES, max_size=60))
def test_hashes_among_others(hashes, known):
    found = is_in(np.array(hashes, np.uint64), np.array(sorted(known), np.uint64))
    assert found.tolist() == [each in known for each in hashes]


def test_many():
    chance = np.random.default_rng(1)
    known = np.unique(chance.integers(0, 2**64 - 1, 200_000, np.uint64))
    hashes = np.concatenate([known[::3], chance.integers(0, 2**64 - 1, 50_000, np.uint64)])
    chance.shuffle(hashes)
    assert (is_in(hashes, known) == np.isin(hashes, known)).all()
