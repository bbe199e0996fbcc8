"""Tables of separated cells, compared with Python's csv module: every encoding, dialect and line
end, and files that no strict parser reads.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import itertools

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Invalid
from anabranch.tables.open_table import open_table, open_typed_table
from anabranch.tables.text.cell_types import ColumnType

NAMES = ["id", "name", "note"]
ROWS = [
    ["1", "José", "plain"],
    ["2", "Müller", "a, b; c\td|e"],
    ["3", 'a "quoted" name', "two\nlines"],
    ["4", "Øre", "  blanks  "],
    ["5", "", "empty before"],
]
ENCODINGS = {
    "utf-8": ("utf-8", b""),
    "utf-8 with a mark": ("utf-8", b"\xef\xbb\xbf"),
    "utf-16-le": ("utf-16-le", b"\xff\xfe"),
    "utf-16-be": ("utf-16-be", b"\xfe\xff"),
    "utf-16-le without a mark": ("utf-16-le", b""),
    "utf-16-be without a mark": ("utf-16-be", b""),
    "iso-8859-1": ("iso-8859-1", b""),
    "windows-1252": ("windows-1252", b""),
}
DELIMITERS = {",": "a.csv", ";": "b.csv", "\t": "c.tsv", "|": "d.psv"}
LINE_ENDS = ("\n", "\r\n", "\r")


def rows_of(table):
    names = table.schema.names
    found = []
    for batch in table.batches():
        columns = [column.to_pylist() for column in batch.columns]
        found += [list(row) for row in zip(*columns, strict=True)]
    assert table.count_rows() == len(found)
    return names, found


def read(content, path="a.csv", name=""):
    return rows_of(open_table(io.BytesIO(content), path, name))


def notes(content, path="a.csv"):
    table = open_table(io.BytesIO(content), path)
    rows_of(table)
    return " ".join(note.text for note in table.notes)


def text(rows, delimiter, line_end, quoting=csv.QUOTE_MINIMAL):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow(NAMES)
    writer.writerows(rows)
    return stream.getvalue()


def rows_with(line_end):
    # Python's writer puts only line ends of its own in quotes
    return [[cell.replace("\n", line_end) for cell in row] for row in ROWS]


def expected(rows):
    return [[cell or None for cell in row] for row in rows]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.sample(32)
def test_every_encoding_dialect_and_line_end_gives_the_cells(encoding, delimiter, line_end):
    codec, mark = ENCODINGS[encoding]
    rows = rows_with(line_end)
    content = mark + text(rows, delimiter, line_end).encode(codec)
    assert read(content, DELIMITERS[delimiter]) == (NAMES, expected(rows))


@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("line_end", LINE_ENDS)
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_compressed_text_gives_the_cells(delimiter, line_end, compress):
    rows = rows_with(line_end)
    content = compress(text(rows, delimiter, line_end).encode())
    extension = "gz" if compress is gzip.compress else "bz2"
    assert read(content, f"{DELIMITERS[delimiter]}.{extension}") == (NAMES, expected(rows))


@pytest.mark.parametrize("delimiter", [*DELIMITERS, "\x01"])
def test_a_file_that_needs_a_name_for_its_format_may_have_any_delimiter(delimiter):
    content = text(ROWS, delimiter, "\n").encode()
    assert read(content, "000000_0", "csv") == (NAMES, expected(ROWS))


def test_the_encoding_is_said_unless_it_is_utf_8():
    assert "1252" in notes("id,name\n1,“x”\n".encode("windows-1252"))
    assert "UTF-16" in notes("id,name\n1,x\n".encode("utf-16"))
    for content, codec in ((b"id,name\n1,x\n", "1252"), ("id,name\n1,é\n".encode(), "16")):
        assert codec not in notes(content)


@pytest.mark.slow
def test_bytes_that_are_not_utf_8_after_the_beginning_lose_no_row():
    content = b"id,name\n" + b"1,plain\n" * 300_000 + "2,Jos\xe9\n3,last\n".encode("latin-1")
    names, rows = read(content)
    assert (names, len(rows)) == (["id", "name"], 300_002)
    assert rows[-2:] == [["2", "José"], ["3", "last"]]


RAGGED = {
    "a cell too many": b"2,x,y,z\n",
    "a cell too few": b"2,x\n",
    "a quote that nothing closes": b'2,"x,y\n',
}


@pytest.mark.parametrize("line", RAGGED)
@pytest.mark.parametrize(
    ("before", "after"),
    # some rows must say how many cells are usual
    [pair for pair in itertools.product([0, 3, 5_000, 60_000], [0, 1, 5_000]) if sum(pair) > 1],
)
@pytest.mark.sample(1)
def test_one_irregular_row_costs_no_other_one(line, before, after):
    content = b"id,a,b\n" + b"1,x,y\n" * before + RAGGED[line] + b"3,x,y\n" * after
    table = open_table(io.BytesIO(content), "a.csv")
    names, rows = rows_of(table)
    assert names[:3] == ["id", "a", "b"]
    assert len(rows) == before + after + 1
    assert [row[0] for row in rows] == ["1"] * before + ["2"] + ["3"] * after
    assert any(not note.is_usual for note in table.notes)


@pytest.mark.parametrize("line", RAGGED)
def test_previews_queries_and_checks_count_alike(line):
    content = b"id,a,b\n" + b"1,x,y\n" * 50 + RAGGED[line] + b"3,x,y\n" * 50
    counts = set()
    for columns in (None, [0], [2], []):
        table = open_table(io.BytesIO(content), "a.csv")
        counts.add(sum(batch.num_rows for batch in table.batches(columns)))
    typed = open_typed_table(io.BytesIO(content), "a.csv")
    counts.add(sum(batch.num_rows for batch in typed.batches()))
    assert counts == {101}


def test_an_empty_cell_is_null_and_one_in_quotes_is_empty():
    regular = b'a,b\n"",\n,""\nx,y\n'
    assert read(regular)[1] == [["", None], [None, ""], ["x", "y"]]
    irregular = regular * 3 + b"x\n"
    assert read(irregular)[1][:2] == [["", None], [None, ""]]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_a_file_without_cells_is_refused(content):
    with pytest.raises(Invalid, match="empty"):
        read(content)


def test_a_bomb_of_compressed_text_is_read_in_pieces():
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 4_000_000, 9)
    assert len(content) < 100_000
    table = open_table(io.BytesIO(content), "a.csv.gz")
    assert sum(batch.num_rows for batch in itertools.islice(table.batches(), 3)) < 4_000_000


@pytest.mark.parametrize(
    ("content", "names", "count"),
    [
        (b"id,2019,2020\n1,2,3\n", ["id", "2019", "2020"], 1),
        (b"name,2019\nAnn,3\nBob,4\n", ["column0", "column1"], 3),
        (b"1,2\n3,4\n", ["column0", "column1"], 2),
        (b"a,b\nc,d\n", ["a", "b"], 1),
        (b",id,b\n0,1,x\n", ["", "id", "b"], 1),
        (b"a,a\n1,2\n", ["a", "a"], 1),
    ],
)
def test_the_first_row_is_a_header_unless_its_cells_are_like_the_others(content, names, count):
    found, rows = read(content)
    assert (found, len(rows)) == (names, count)


CELLS = st.text(st.sampled_from("ab1é \"',;\t|\n"), max_size=5)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=3, max_size=12),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_quoted_cells_are_those_of_python_and_pandas(rows, delimiter, line_end):
    # each cell is in quotes, so the dialect can be told from any rows
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL)
    writer.writerows([["first", "second"], *rows])
    content = stream.getvalue()
    names, found = read(content.encode(), "a.tsv" if delimiter == "\t" else "a.csv")
    oracle = list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))
    assert [names, *found] == oracle
    frame = pd.read_csv(io.StringIO(content), sep=delimiter, dtype=str, keep_default_na=False)
    assert len(frame) == len(found)


NUMBERS = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=6).map(lambda n: f"{n:f}"),
    st.sampled_from(["007", "1e5", "1e400", "NaN", "-0", "+1", "1.", ".5", "2024-02-30"]),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_types_of_columns_keep_the_digits_of_each_value(values):

    content = ("v,w\n" + "".join(f"{value},x\n" for value in values)).encode()
    table = open_typed_table(io.BytesIO(content), "a.csv")
    (batch,) = table.batches([0])
    for value, scalar in zip(values, batch.column(0), strict=True):
        shown = scalar.as_py()
        if isinstance(shown, str):
            assert shown == value
        elif isinstance(shown, float):
            assert repr(shown) == repr(float(value))
            if "e" not in value.lower() and value != "NaN":
                assert_same_number(shown, value)
        else:
            assert_same_number(shown, value)


TIMES = st.sampled_from(
    [
        *("2024-05-06", "2024-02-30", "0000-01-01", "2024-05-06T07:08:09", "2024-05-06 07:08"),
        *("2024-05-06 07:08:09.123456789Z", "2024-05-06 07:08:09+00:00", "24:00:00", "07:08:09.5"),
        *("true", "FALSE", "", " ", " 5 ", "inf", "-Infinity", "x", "2024-05-06 25:00:00"),
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.one_of(NUMBERS, TIMES), min_size=1, max_size=4))
def test_few_and_many_cells_have_the_same_types(cells):
    few, many = ColumnType(), ColumnType()
    few.add(pa.array(cells))
    many.add(pa.array(cells * 200 if len(cells) > 2 else cells * 600))
    assert few.type == many.type


def assert_same_number(shown, value):
    from decimal import Decimal

    assert Decimal(str(shown)) == Decimal(value)


@pytest.mark.parametrize(
    "value", ["12345678901234567890", "0.1234567890123456789", "9" * 38, "9" * 39, "00123"]
)
def test_long_numbers_are_no_doubles(value):
    content = f"v,w\n{value},x\n1,y\n".encode()
    table = open_typed_table(io.BytesIO(content), "a.csv")
    assert "double" not in str(table.schema.field(0).type)
    (batch,) = table.batches([0])
    assert_same_number(batch.column(0)[0].as_py(), value)
