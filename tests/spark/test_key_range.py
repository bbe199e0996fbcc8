"""Key ranges equal a filter of keys one by one."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anabranch.spark.planning.key_range import KeyRange

keys = st.text("ab\x7f", max_size=4).map(str.encode) | st.binary(max_size=3)
key_ranges = st.builds(KeyRange, keys, keys, keys)


def contains(selected, key):
    return (
        key.startswith(selected.prefix)
        and key > selected.after
        and (not selected.until or key <= selected.until)
    )


@given(key_ranges, keys, keys, keys)
def test_range_that_has_a_selected_key_overlaps(selected, first, second, third):
    low, middle, high = sorted((first, second, third))
    if any(contains(selected, key) for key in (low, middle, high)):
        assert selected.overlaps(low, high)
    if not selected.overlaps(low, high):
        assert not contains(selected, low)


@given(key_ranges, keys, keys, keys)
def test_narrowing_selects_keys_of_both(selected, after, until, key):
    limits = KeyRange(b"", after, until)
    both = contains(selected, key) and contains(limits, key)
    assert contains(selected.narrow(after, until), key) == both


@given(key_ranges, st.lists(keys, unique=True).map(sorted))
def test_trimming_drops_the_rows_after_the_range(selected, paths):
    batch = pa.RecordBatch.from_pydict({"path": pa.array(paths, pa.binary())})
    expected = [key for key in paths if not selected.until or key <= selected.until]
    assert selected.trim(batch).column("path").to_pylist() == expected
