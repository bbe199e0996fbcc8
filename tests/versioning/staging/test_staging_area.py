"""Overlaid staging areas, compared with dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.keyvalue.memory import MemoryStore
from anabranch.versioning.staging.area import Staging

keys = st.binary(min_size=1, max_size=2)
values = st.none() | st.tuples(st.binary(min_size=1, max_size=2), st.binary(max_size=2))
areas = st.lists(st.dictionaries(keys, values, max_size=12), max_size=4)


def staged(contents):
    """Returns staging areas with these contents, the newest first, and their tokens."""
    store = MemoryStore()
    staging = Staging(store)
    tokens = [f"token-{number}" for number in range(len(contents))]
    for token, content in zip(tokens, contents, strict=True):
        store.apply([staging.write(token, key, value) for key, value in content.items()])
    return staging, tokens


def newest(contents, start=b"", end=None):
    """Returns the changes that hold."""
    merged = {key: value for content in reversed(contents) for key, value in content.items()}
    return [
        (key, value)
        for key, value in sorted(merged.items())
        if start <= key and (end is None or key < end)
    ]


@given(areas, keys, st.none() | keys)
def test_changes_are_newest_of_each_key(contents, start, end):
    staging, tokens = staged(contents)
    assert list(staging.changes(tokens)) == newest(contents)
    assert list(staging.changes(tokens, start, end)) == newest(contents, start, end)
    for key, value in newest(contents):
        found = staging.get(tokens, key)
        assert found is not None
        assert found.value == value
    assert staging.is_empty(tokens) == (not newest(contents))


@given(areas, keys, st.none() | keys, st.integers(1, 15))
def test_chunk_is_beginning_of_changes(contents, start, end, limit):
    staging, tokens = staged(contents)
    wanted = newest(contents, start, end)
    rows, last = staging.chunk(tokens, start, end, limit)
    assert [key for key, _ in rows] == [key for key, _ in wanted[:limit]]
    assert last == (len(rows) < limit)
    if last:
        assert len(rows) == len(wanted)
    assert rows == list(staging.rows(tokens, start, end))[:limit]
