"""Hashes of addresses, compared with a plain implementation of the function for one address."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.pipelines.column_hashes import distinct, hash_addresses

MASK = 2**64 - 1


def one_hash(text):
    raw = text.encode()
    state = 0x9E3779B97F4A7C15 ^ len(raw)
    for start in range(0, len(raw), 8):
        word = int.from_bytes(raw[start : start + 8].ljust(8, b"\0"), "little")
        state ^= word * 0x87C37B91114253D5 & MASK
        state = ((state << 31 | state >> 33) & MASK) * 0x4CF5AD432745937F & MASK
    state ^= state >> 33
    state = state * 0xFF51AFD7ED558CCD & MASK
    state ^= state >> 33
    state = state * 0xC4CEB9FE1A85EC53 & MASK
    return state ^ state >> 33


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.text(max_size=60)), st.integers(0, 5))
def test_hash_addresses_of_a_column_equals_the_reference_hash_of_each_text(texts, skipped):
    column = pa.array(texts, pa.string())[skipped:]
    assert hash_addresses(column).tolist() == [one_hash(text) for text in texts[skipped:]]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, MASK - 1, MASK]) | st.integers(0, MASK))))
def test_distinct_returns_sorted_hashes_without_duplicates(pieces):
    arrays = [np.array(piece, np.uint64) for piece in pieces]
    assert distinct(arrays).tolist() == sorted({value for piece in pieces for value in piece})


def test_texts_of_equal_length_have_the_same_hashes_as_others():
    texts = [f"data/{'c' * 20}/{number:020d}" for number in range(1000)]
    column = pa.array(["x", *texts], pa.string())[1:]
    found = hash_addresses(column).tolist()
    assert found == [one_hash(text) for text in texts]
    assert len(set(found)) == 1000


def test_hashes_of_addresses_never_change_because_they_are_stored():
    column = pa.array(["", "data/a/b", "data/" + "c" * 20 + "/" + "d" * 20])
    assert [f"{value:016x}" for value in hash_addresses(column).tolist()] == KEPT


KEPT = ["9ca066f1a4ab2eea", "cded98771324d7e6", "debcdec172499cc5"]
