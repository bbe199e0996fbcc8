"""Rows as tables and as tab-separated lines."""

from __future__ import annotations

from inspect import cleandoc

import pytest

from anabranch.cli.output.table import Column, align, separate

pytestmark = pytest.mark.usefixtures("home")

COLUMNS = (
    Column("CHANGE", "change"),
    Column("SIZE", "size"),
    Column("MODIFIED", "time"),
    Column("COMMIT", "id"),
    Column("PATH", "name"),
)
ID = "0123456789abcdef" * 4
ROWS = [
    ("added", 5, 0, ID, "a"),
    ("conflict", 1536, 1_700_000_000, ID, "日本/b\n"),
    ("removed", None, None, ID, ""),
]


def test_a_table_for_people():
    assert "\n".join(align(COLUMNS, ROWS, colour=False)) == cleandoc(r"""
        CHANGE         SIZE  MODIFIED                   COMMIT        PATH
        + added         5 B  1970-01-01 00:00:00 +0000  0123456789ab  a
        * conflict  1.5 KiB  2023-11-14 22:13:20 +0000  0123456789ab  日本/b\n
        - removed                                       0123456789ab
    """)


def test_lines_for_programs():
    assert list(separate(COLUMNS, ROWS)) == [
        f"added\t5\t1970-01-01T00:00:00Z\t{ID}\ta",
        f"conflict\t1536\t2023-11-14T22:13:20Z\t{ID}\t日本/b\\n",
        f"removed\t\t\t{ID}\t",
    ]


def test_colours_do_not_disturb_the_columns():
    columns = (Column("NAME", "name"), Column("X"))
    rows = [("a", "1"), ("long", "2")]
    assert list(align(columns, rows, colour=True)) == [
        "\x1b[1mNAME\x1b[0m  \x1b[1mX\x1b[0m",
        "\x1b[36ma\x1b[0m     1",
        "\x1b[36mlong\x1b[0m  2",
    ]


def test_no_rows_no_headings():
    assert list(align(COLUMNS, [], colour=True)) == []


def test_rows_are_taken_as_they_are_printed():
    taken = 0

    def rows():
        nonlocal taken
        for number in range(5000):
            taken += 1
            yield (str(number),)

    lines = align((Column("N"),), rows(), colour=False)
    assert [next(lines) for _ in range(3)] == ["N", "0", "1"]
    assert taken == 1000
    assert len(list(lines)) == 4998
