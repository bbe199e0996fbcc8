"""Streams of ranges beside streams of bytes in memory."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.files.ranged_stream import open_ranges

CONTENT = bytes(range(200))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(-1, 300)),
        st.tuples(st.just("seek"), st.integers(-20, 250), st.sampled_from([0, 1, 2])),
        st.tuples(st.just("readline")),
    ),
    max_size=12,
)


@given(STEPS, st.integers(1, 64), st.integers(1, 50))
def test_reads_and_seeks_are_those_of_bytes(steps, buffer_bytes, longest):
    def read(start: int, length: int) -> bytes:
        assert 0 <= start < start + length <= len(CONTENT)
        return CONTENT[start : start + min(length, longest)]

    expected = io.BytesIO(CONTENT)
    with open_ranges(read, len(CONTENT), buffer_bytes=buffer_bytes) as stream:
        for name, *arguments in steps:
            if name == "seek":
                offset, whence = arguments
                start = (0, expected.tell(), len(CONTENT))[whence]
                if start + offset < 0:
                    with pytest.raises((ValueError, OSError)):
                        stream.seek(offset, whence)
                    stream.seek(expected.tell())
                    continue
            assert getattr(stream, name)(*arguments) == getattr(expected, name)(*arguments)
            assert stream.tell() == expected.tell()


def test_errors_of_the_reader_are_raised():
    def read(start: int, length: int) -> bytes:
        raise PermissionError(f"{start} {length}")

    with open_ranges(read, 10, buffer_bytes=4) as stream, pytest.raises(PermissionError):
        stream.read(1)
