"""Tables in text: each encoding, dialect and line end, with Python's csv module as the oracle."""

from __future__ import annotations

import csv
import gzip
import io
import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.tables.open_table import open_table, open_typed_table
from anabranch.tables.table import UnreadableTable
from anabranch.tables.text.cells import Dialect, read_rows

ROWS = [
    ["id", "name", "note"],
    ["1", "José", "plain"],
    ["2", "Müller", "with , ; | and \t"],
    ["3", 'say "hi"', "two\nlines"],
    ["4", "", "an empty cell"],
]
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "byte order mark",
    "utf-16": "UTF-16 LE",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32": "UTF-32",
    "latin-1": "Windows-1252",
    "cp1252": "Windows-1252",
}


def written(rows, delimiter=",", line_end="\n", quoting=csv.QUOTE_MINIMAL):
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(
        rows
    )
    return stream.getvalue()


def read(content, path="t.csv"):
    """Returns the names, the rows, and the table."""
    table = open_table(io.BytesIO(content), path)
    rows = [list(row.values()) for batch in table.batches() for row in batch.to_pylist()]
    assert table.count_rows() == len(rows)
    return table.schema.names, rows, table


def expected(rows):
    return [[cell or None for cell in row] for row in rows]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.sample(32)
def test_every_encoding_dialect_and_line_end(encoding, delimiter, line_end):
    # Python's writer quotes a line end only if it is the file's own
    quoting = csv.QUOTE_ALL if line_end == "\r" else csv.QUOTE_MINIMAL
    text = written(ROWS, delimiter, line_end, quoting)
    oracle = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    assert oracle == ROWS
    for content, path in (
        (text.encode(encoding), "t.csv"),
        (text.removesuffix(line_end).encode(encoding), "t.csv"),
        (gzip.compress(text.encode(encoding)), "t.csv.gz"),
    ):
        names, rows, table = read(content, path)
        wanted = oracle[1:] if quoting == csv.QUOTE_ALL else expected(oracle[1:])
        assert (names, rows) == (oracle[0], wanted)
        assert ENCODINGS[encoding] in table.notes[0].text
        assert not any(note.is_repair for note in table.notes)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_irregular_rows_change_no_other_row(encoding, delimiter, line_end):
    irregular = [*ROWS, ["5", "short"], ["6", "a", "b", "long"], ["7", "é", "last"]]
    content = written(irregular, delimiter, line_end).encode(encoding)
    names, rows, table = read(content)
    assert names == [*ROWS[0], "column3"]
    assert rows == [[*row, *[None] * (4 - len(row))] for row in expected(irregular[1:])]
    repairs = [note.text for note in table.notes if note.is_repair]
    assert [text.startswith(("1 row has fewer", "1 row has more")) for text in repairs] == [
        True
    ] * 2


@pytest.mark.slow
def test_one_ragged_row_after_many_regular_ones_loses_no_row():
    body = [[str(number), "x", "y"] for number in range(30_000)]
    content = written([ROWS[0], *body, ["z", "1", "2", "3"], *body]).encode()
    names, rows, table = read(content)
    assert names == ROWS[0]
    assert len(rows) == 60_001
    assert rows[30_000] == ["z", "1", "2"]
    texts = [note.text for note in table.notes if note.is_repair]
    assert texts == [
        "1 row has more cells than the first one.",
        "1 row has cells without a column, which are left out.",
    ]


def test_lines_of_another_encoding_are_told_and_all_rows_are_read():
    content = "id,name\n1,é\n".encode() + "2,ü\n".encode("latin-1") + b"3,\x81\n"
    _, rows, table = read(content)
    assert rows == [["1", "é"], ["2", "ü"], ["3", "\x81"]]
    assert [note.text for note in table.notes if note.is_repair] == [
        "2 lines that are not UTF-8, and read as Windows-1252."
    ]


def test_bytes_that_windows_1252_leaves_undefined_do_not_change_others_of_the_line():
    _, rows, _ = read(b"id,name\n1,\x80\x81\n")
    assert rows == [["1", "€\x81"]]


@given(
    st.lists(
        st.lists(st.text(alphabet='ab,;"\n\r |é\t', max_size=6), min_size=1, max_size=4),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 50),
)
def test_the_lenient_reader_reads_what_pythons_writer_wrote(rows, delimiter, line_end, size):
    text = written(rows, delimiter, line_end, csv.QUOTE_ALL)
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    assert [row for row, _ in read_rows(blocks, Dialect(delimiter))] == rows


@given(st.text(alphabet='a,"\n\r\\', max_size=40), st.integers(1, 20))
def test_blocks_do_not_change_what_is_read(text, size):
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    for dialect in (Dialect(","), Dialect(",", '"', "\\"), Dialect(",", "")):
        assert list(read_rows(blocks, dialect)) == list(read_rows([text], dialect))


def test_a_quote_that_is_not_closed_is_told():
    _, _, table = read(b'a,b\n1,"unclosed\n2,3\n')
    (repair,) = [note.text for note in table.notes if note.is_repair]
    assert "quotation mark that is not closed" in repair


@pytest.mark.parametrize(
    ("content", "names", "rows"),
    [
        (b'a,b\n"x\\"y",2\n"p,q",3\n', ["a", "b"], [['x"y', "2"], ["p,q", "3"]]),
        (b"a,b\n'x,y',2\n", ["a", "b"], [["x,y", "2"]]),
        (b"1,2\n3,4\n", ["column0", "column1"], [["1", "2"], ["3", "4"]]),
        (b",id\n0,a\n", ["", "id"], [["0", "a"]]),
        (b"a\n1\n\n2\n", ["a"], [["1"], ["2"]]),
        (b"a,b", ["a", "b"], []),
        (b'a,b\n"",\n', ["a", "b"], [["", None]]),
        (b"a,b,\n1,2,\n", ["a", "b", ""], [["1", "2", None]]),
    ],
)
def test_other_dialects_and_shapes(content, names, rows):
    assert read(content)[:2] == (names, rows)


@pytest.mark.slow
def test_small_files_that_expand_are_read_in_pieces_and_lines_are_limited():
    bomb = gzip.compress(b"a,b\n" + b"1" * (40 << 20))
    with pytest.raises(UnreadableTable) as caught:
        read(bomb, "t.csv.gz")
    assert caught.value.kind == "line_too_large"
    with pytest.raises(UnreadableTable):
        read(gzip.compress(b"a,b\n1,2\n")[:-6], "t.csv.gz")


TYPES = {
    "BIGINT": (["0", "-5", " 7 ", str(2**63 - 1)], pa.int64()),
    "20 digits": (["12345678901234567890", "1"], pa.decimal128(38, 0)),
    "39 digits": (["1" * 39], pa.string()),
    "leading zeros": (["007", "1"], pa.string()),
    "plus": (["+1"], pa.string()),
    "doubles": (["1.5", "-2", "1e5", "0.1234567890123456"], pa.float64()),
    "doubles with NaN": (["1.5", "nan", "-inf"], pa.float64()),
    "words": (["nan", "inf"], pa.string()),
    "digits": (["12345.678901234567890123", "1.5"], pa.decimal128(38, 18)),
    "beyond 2^53": (["9007199254740993", "1.5"], pa.decimal128(38, 1)),
    "too large": (["1e400"], pa.string()),
    "dates": (["2024-02-29"], pa.date32()),
    "no dates": (["2023-02-29"], pa.string()),
    "moments": (["2024-01-02 03:04:05", "2024-01-02T03:04:05.123456"], pa.timestamp("us")),
    "nanoseconds": (["2024-01-02 03:04:05.123456789"], pa.timestamp("ns")),
    "zoned": (["2024-01-02T03:04:05Z"], pa.timestamp("us", "UTC")),
    "other zones": (["2024-01-02T03:04:05+02:00"], pa.string()),
    "dates and moments": (["2024-01-02", "2024-01-02 03:04:05"], pa.string()),
    "clocks": (["03:04:05", "03:04:05.5"], pa.time64("us")),
    "truth": (["true", "False"], pa.bool_()),
    "mixed": (["1", "x"], pa.string()),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_of_columns_hold_each_cell(kind):
    cells, expected_type = TYPES[kind]
    content = written([["v", "w"], *([cell, "w"] for cell in [*cells, ""])]).encode()
    table = open_typed_table(io.BytesIO(content), "t.csv")
    assert table.schema.field(0).type == expected_type
    column = pa.Table.from_batches(table.batches())["v"]
    assert column.null_count == 1
    if expected_type == pa.string():
        assert column.to_pylist() == [*cells, None]
    elif pa.types.is_decimal(expected_type) or pa.types.is_integer(expected_type):
        from decimal import Decimal

        assert column.to_pylist() == [*(Decimal(cell.strip()) for cell in cells), None]


@pytest.mark.slow
def test_types_are_those_of_all_rows_of_a_large_file():
    lines = itertools.chain([b"v,w\n"], itertools.repeat(b"1,abcdefgh\n", 2_000_000), [b"x,y\n"])
    stream = io.BytesIO(b"".join(lines))
    whole = open_typed_table(stream, "t.csv")
    assert whole.schema.types == [pa.string(), pa.string()]
    assert whole.count_rows() == 2_000_001
    beginning = open_typed_table(stream, "t.csv", rows=1_000)
    assert beginning.schema.field(0).type == pa.int64()
    with pytest.raises(UnreadableTable, match="column v has a cell that is no int64"):
        list(beginning.batches())
