"""Byte ranges, compared with slices of Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import RangeNotSatisfiable
from anabranch.http.ranges import parse_range


@given(st.integers(0, 50), st.integers(0, 60), st.integers(0, 60))
def test_ranges_select_what_slices_select(size, first, last):
    data = bytes(range(size))
    for header, wanted in (
        (f"bytes={first}-{last}", data[first : last + 1]),
        (f"bytes={first}-", data[first:]),
        (f"bytes=-{last}", data[max(size - last, 0) :] if last else b""),
    ):
        if header == f"bytes={first}-{last}" and last < first:
            assert parse_range(header, size) is None
        elif not wanted:
            with pytest.raises(RangeNotSatisfiable) as caught:
                parse_range(header, size)
            assert caught.value.size == size
        else:
            part = parse_range(header, size)
            assert part is not None
            assert data[part.start : part.start + part.length] == wanted
            assert part.content_range == f"bytes {part.start}-{data.index(wanted[-1])}/{size}"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "0-1",
        "bytes=",
        "bytes=-",
        "bytes=3-1",
        "bytes=30-20",
        "bytes=0-1,3-4",
        "bytes= 0-1",
        "bytes=\u0661-",
        "items=0-1",
        f"bytes={'9' * 5000}-",
    ],
)
def test_header_without_one_valid_range_selects_nothing(header):
    assert parse_range(header, 10) is None
