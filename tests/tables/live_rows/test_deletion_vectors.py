"""Deletion vectors, compared with the bitmaps of the package pyroaring."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from anabranch.errors import Invalid
from anabranch.tables.live_rows.deletion_vectors import decode_z85, framed_vector, positions

MAGIC = struct.pack("<I", 1681511377)
ROWS = 1 << 40


def vector(numbers, *, runs=False):
    bitmap = BitMap64(numbers)
    if runs:
        bitmap.run_optimize()
    return MAGIC + bitmap.serialize()


def decoded(content, rows=ROWS):
    found = list(positions(content, rows))
    return np.concatenate(found).tolist() if found else []


@pytest.mark.parametrize("runs", [False, True], ids=["plain", "runs"])
@pytest.mark.parametrize(
    "numbers",
    [
        [],
        [0],
        [0xFFFF, 0x10000],
        range(4096),
        range(4097),
        range(70_000),
        range(0, 500_000, 3),
        [number << 16 for number in range(5)],
        [7, 1 << 32, (1 << 33) + 5],
        [*range(10), *range(65_536, 140_000), 1 << 35],
    ],
)
def test_positions_are_those_of_the_bitmap(numbers, runs):
    assert decoded(vector(numbers, runs=runs)) == list(numbers)


@given(
    st.lists(st.tuples(st.integers(0, 1 << 18), st.integers(1, 9000)), max_size=6),
    st.booleans(),
)
def test_any_positions_are_those_of_the_bitmap(spans, runs):
    numbers = sorted({number for start, size in spans for number in range(start, start + size)})
    assert decoded(vector(numbers, runs=runs)) == numbers


def test_a_position_behind_the_last_row_is_refused():
    assert decoded(vector([9]), rows=10) == [9]
    with pytest.raises(Invalid, match="has the row 10 of a file of 10 rows"):
        decoded(vector([10]), rows=10)


@given(st.data())
def test_damaged_vectors_are_refused_or_read(data):
    content = bytearray(vector([1, 5, *range(70_000, 80_000)], runs=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        found = decoded(bytes(content[:cut]), rows=1 << 20)
    except Invalid:
        return
    assert len(found) <= 1 << 20


def test_a_few_bytes_cannot_stand_for_many_positions():
    runs = 60_000
    head = struct.pack("<I", 12347) + b"\x01" + struct.pack("<HHH", 0, 0xFFFF, runs)
    content = MAGIC + struct.pack("<QI", 1, 0) + head + struct.pack("<HH", 0, 0xFFFF) * runs
    with pytest.raises(Invalid, match="overlapping runs"):
        decoded(content)


def test_frames_are_checked():
    content = vector([3, 4])
    framed = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
    assert framed_vector(framed) == content
    for damaged, reason in (
        (framed[:-1], "cut off"),
        (b"", "cut off"),
        (framed[:-1] + b"?", "checksum"),
        (struct.pack(">I", 1 << 31) + framed[4:], "cut off"),
    ):
        with pytest.raises(Invalid, match=reason):
            framed_vector(damaged)


def test_z85_is_that_of_its_specification():
    assert decode_z85("HelloWorld").hex() == "864fd26fb559f75b"
    for wrong in ("Hello W", "Hello1", "#####"):
        with pytest.raises(Invalid, match="Z85"):
            decode_z85(wrong)
