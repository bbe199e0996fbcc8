"""Identifiers: xids against base32hex as the standard library writes it."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from anabranch.versioning.identifiers import Identifiers

WRAP = 1 << 32


def identifiers(seconds: float, process: bytes, counter: bytes) -> Identifiers:
    given_bytes = iter([process, counter])
    return Identifiers(lambda: seconds, lambda _: next(given_bytes))


@given(
    st.integers(0, 2 * WRAP),
    st.binary(min_size=5, max_size=5),
    st.binary(min_size=3, max_size=3),
)
def test_xid_is_base32hex_of_twelve_bytes(seconds, process, counter):
    made = identifiers(seconds, process, counter)
    for count in range(3):
        number = (int.from_bytes(counter) + count) % (1 << 24)
        raw = (seconds % WRAP).to_bytes(4) + process + number.to_bytes(3)
        assert made.xid() == base64.b32hexencode(raw).decode().rstrip("=").lower()


def test_descending_xids_of_one_second_sort_backwards():
    made = identifiers(1_700_000_000, bytes(5), b"\1\0\0")
    ids = [made.descending_xid() for _ in range(300)]
    assert ids == sorted(ids, reverse=True)


def test_later_descending_xid_sorts_first():
    early = identifiers(1_700_000_000, bytes(5), bytes(3)).descending_xid()
    late = identifiers(1_700_000_001, bytes(5), bytes(3)).descending_xid()
    assert late < early
