"""JSON lines are read as Python's `json` reads them, value by value, whichever reader does it."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import math
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.tables.formats import FORMATS
from anabranch.tables.open_table import open_table
from anabranch.tables.readers.json_lines import ScannedLines, scan_lines
from anabranch.tables.readers.json_table import JsonTable
from anabranch.tables.readers.json_text import JsonText
from anabranch.tables.table import UnreadableTable


def listed(items):
    return f"[{', '.join(items)}]"


def named(members):
    return (
        "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in dict(members).items()) + "}"
    )


LONE_SURROGATES = [r'"\ud800"', r'"\ude00x"', r'"\ud83d\n"']
INTEGERS = st.integers(-(2**70), 2**70) | st.integers(-99, 99) | st.sampled_from([2**53, -(2**63)])
SMALL = st.integers(-(2**53), 2**53).map(str)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(json.dumps)
SPELLED = st.sampled_from(
    [
        "1.00",
        "1e400",
        "1e-400",
        "-0",
        "-0.0",
        "0e999",
        "1E5",
        "1e+22",
        "12345678901234567890.5",
        "0.30000000000000001",
        "0.1000000000000000055",
        "4e-324",
        "5e-324",
        "9007199254740993.0",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=6).map(json.dumps),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6).map(
        lambda text: json.dumps(text, ensure_ascii=False)
    ),
    st.sampled_from([r'"\u0000"', r'"\/\b\f"', r'"\ud83d\ude00"', '"\x7f\u2028"', '"2024-01-01"']),
)
BOOLS = st.sampled_from(["true", "false"])
KEYS = st.sampled_from(["a", "A", "b", "", "ä", "c d", '"', "\\"])
ORDINARY = [SMALL, FLOATS, FLOATS | SMALL, TEXTS, BOOLS, st.just("null")]
ANYTHING = st.recursive(
    st.one_of(*ORDINARY, INTEGERS.map(str), SPELLED, st.sampled_from(LONE_SURROGATES)),
    lambda inner: st.lists(inner, max_size=3).map(listed) | st.dictionaries(KEYS, inner).map(named),
    max_leaves=4,
)


@st.composite
def columns(draw, depth=0):
    """Draws what draws the cells of a column."""
    kind = draw(st.integers(0, len(ORDINARY) + 2))
    if kind < len(ORDINARY):
        return ORDINARY[kind]
    if kind == len(ORDINARY) and depth < 2:
        return st.lists(draw(columns(depth + 1)), max_size=3).map(listed)
    if kind == len(ORDINARY) + 1 and depth < 2:
        members = {"x": draw(columns(depth + 1)), "y": draw(columns(depth + 1))}
        return st.fixed_dictionaries({"z": st.just("true")}, optional=members).map(named)
    return ANYTHING


@st.composite
def documents(draw):
    """Draws the bytes of a file."""
    names = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
    cells = {name: draw(columns()) | st.just("null") for name in names}
    rows = draw(st.lists(st.fixed_dictionaries({}, optional=cells), max_size=6))
    lines = [named(row) for row in rows]
    if lines and draw(st.integers(0, 9)) == 0:
        lines[-1] = '{"a": 1, "\\u0061": ' + draw(SMALL) + "}"
    end = draw(st.sampled_from(["\n", "\r\n", "\n\n", " \n\t\r\n"]))
    mark = draw(st.sampled_from([b"", codecs.BOM_UTF8]))
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    return mark + text.encode()


def expected_rows(content):
    text = content.removeprefix(codecs.BOM_UTF8).decode()
    return [loads(line) for line in text.split("\n") if line.strip()]


def loads(text):
    return json.loads(text, parse_float=Decimal)


def same(cell, written):
    """Returns whether a cell of Arrow is the value that `json` reads; texts may be in JSON where
    values of several kinds are in a column.
    """
    if isinstance(cell, str):
        return cell == written or same_json(cell, written)
    if cell is None or written is None or isinstance(cell, bool) or isinstance(written, bool):
        return cell is written
    if isinstance(cell, list):
        pairs = zip(cell, written, strict=True)
        return isinstance(written, list) and all(same(*pair) for pair in pairs)
    if isinstance(cell, dict):
        return written.keys() <= cell.keys() and all(
            same(value, written.get(name)) for name, value in cell.items()
        )
    number = Decimal(repr(cell)) if isinstance(cell, float) else Decimal(cell)
    signs = [math.copysign(1, each) for each in (cell, written)]
    return number == Decimal(written) and (isinstance(cell, Decimal) or signs[0] == signs[1])


def same_json(text, written):
    try:
        return loads(text) == written
    except ValueError:
        return False


def check(table, rows):
    read = rows_of(table)
    assert table.count_rows() == len(rows) == len(read)
    for row, written in zip(read, rows, strict=True):
        if list(row) == ["json"] and "json" not in written:
            assert loads(row["json"]) == written
        else:
            assert same(row, written), (row, written)


@settings(max_examples=examples(150))
@given(documents(), st.booleans())
def test_each_value_is_the_one_that_is_written(content, is_compressed):
    stored = gzip.compress(content) if is_compressed else content
    if any(text.encode() in content for text in LONE_SURROGATES):
        with pytest.raises(UnreadableTable):
            open_table(io.BytesIO(stored), "t.jsonl")
        return
    table = open_table(io.BytesIO(stored), "t.jsonl")
    rows = expected_rows(content)
    check(table, rows)
    assert_exact_reader_agrees(table, stored, "jsonl", "gzip" if is_compressed else "")


def assert_exact_reader_agrees(table, stored, name, compression=""):
    """The reader of all values gives the same types, rows and notes."""
    others = JsonTable(text_of(stored, name, compression))
    assert table.schema == others.schema
    assert rows_of(table) == rows_of(others)
    assert [note.text for note in table.notes] == [note.text for note in others.notes]


def rows_of(table):
    return pa.Table.from_batches(table.batches(), schema=table.schema).to_pylist()


def text_of(content, name="jsonl", compression=""):
    return JsonText(io.BytesIO(content), FORMATS[name], compression)


def scanned(content, name="jsonl"):
    return scan_lines(text_of(content, name))


def test_ordinary_lines_are_read_by_the_fast_reader():
    line = {"id": 2**53, "ä": 0.1, "t": "2024-01-01 \U0001f600", "o": {"l": [[1], []], "n": None}}
    for dump in (json.dumps(line), json.dumps(line, ensure_ascii=False)):
        content = f"{dump}\n{{}}\n".encode()
        table = scanned(content)
        assert isinstance(table, ScannedLines)
        check(table, expected_rows(content))


@pytest.mark.parametrize(
    "cell",
    [
        "12345678901234567890",
        "0.1000000000000000055",
        "1e-400",
        '{"a": 1, "a": 1}',
        "{}",
        '["", 1]',
    ],
)
def test_columns_with_values_at_risk_are_decoded_one_by_one(cell):
    content = f'{{"a": 1, "v": {cell}, "b": "x"}}\n{{"b": "y", "a": 0.5}}\n'.encode()
    table = open_table(io.BytesIO(content), "t.jsonl")
    assert isinstance(table, ScannedLines)
    check(table, expected_rows(content))
    assert_exact_reader_agrees(table, content, "jsonl")
    for columns in ([1], [2, 1], [0], [1, 2, 0]):
        (batch,) = table.batches(columns)
        assert batch.to_pylist() == [
            {table.schema.names[place]: row[table.schema.names[place]] for place in columns}
            for row in rows_of(table)
        ]


@pytest.mark.parametrize(
    "line",
    ["1", "[{}]", "{}", '{"a": 1e400}', '{"a": 0e999}', '{"a": ' + "[" * 40 + "]" * 40 + "}"],
)
def test_other_lines_are_read_by_the_exact_reader(line):
    assert scanned(f"{line}\n".encode()) is None
    assert isinstance(open_table(io.BytesIO(f"{line}\n".encode()), "t.jsonl"), JsonTable)


@settings(max_examples=examples(100))
@given(documents(), st.booleans(), st.sampled_from(["", " ", "\n\t"]), st.data())
def test_documents_are_read_as_their_lines(content, is_array, space, data):
    lines = content.removeprefix(codecs.BOM_UTF8).decode().split("\n")
    objects = [space + line.strip() + space for line in lines if line.strip()]
    if not is_array:
        objects = objects[:1] or ["{}"]
    text = "[" + ",".join(objects) + "]" if is_array else objects[0]
    document = text.replace(": ", f":{space}").encode()
    if any(each.encode() in document for each in LONE_SURROGATES):
        return
    table = open_table(io.BytesIO(document), "t.json")
    rows = loads(document)
    check(table, rows if is_array else [rows])
    assert_exact_reader_agrees(table, document, "json")
    # numbers that no double holds are left to the exact reader
    assert isinstance(table, ScannedLines) or not any(rows) or re.search(rb"[eE]\+?\d{3}", document)
    # what is cut off or has another byte is an error, or what `json` reads
    place = data.draw(st.integers(0, len(document) - 1))
    other = data.draw(st.sampled_from([b"", b",", b"]", b"\n", b"{", b'"', b" "]))
    damaged = document[:place] + other + document[place + 1 :]
    # half a surrogate pair is refused, which `json` reads, and what is not UTF-8 is Windows-1252
    if b"\\ud" in damaged.lower() or not is_utf_8(damaged):
        return
    try:
        expected = loads(damaged)
    except ValueError:
        with pytest.raises(UnreadableTable):
            open_table(io.BytesIO(damaged), "t.json")
    else:
        check(open_table(io.BytesIO(damaged), "t.json"), as_rows(expected))


def is_utf_8(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def as_rows(value):
    return value if isinstance(value, list) else [value]


class CountedStream(io.BytesIO):
    """Counts the bytes that are read."""

    def __init__(self, content):
        super().__init__(content)
        self.read_bytes = 0

    def read(self, size=-1):
        content = super().read(size)
        self.read_bytes += len(content)
        return content


@pytest.mark.parametrize("start", ["[", "[1, "])
def test_a_document_is_read_once(start):
    content = f'{start}{{"a": "{"x" * 3000}"}}]'.encode()
    stream = CountedStream(content)
    table = open_table(stream, "t.json")
    list(table.batches())
    assert stream.read_bytes < len(content) + 100  # and its edges, which may say its format


def test_many_short_and_few_long_lines():
    short = b"{}\n" * 400_000 + b'{"a": 1}'
    table = scanned(short)
    assert table.count_rows() == sum(batch.num_rows for batch in table.batches()) == 400_001
    long = {"a": "x" * (3 << 20)}
    check(scanned(b"\n".join([json.dumps(long).encode()] * 2)), [long, long])


def test_columns_are_chosen_in_any_order():
    table = scanned(b'{"a": 1, "b": "x", "c": [1]}\n{"c": [2]}\n')
    (batch,) = table.batches([2, 0])
    assert batch.to_pydict() == {"c": [[1], [2]], "a": [1, None]}
    assert [batch.num_rows for batch in table.batches([])] == [2]


def test_lines_that_changed_since_the_scan_are_an_error():
    stream = io.BytesIO(b'{"a": 1}\n')
    table = scan_lines(JsonText(stream, FORMATS["jsonl"], ""))
    for other in (b'{"a": "1"}\n', b'{"a": 1}\n' * 2, b"{"):
        stream.seek(0)
        stream.truncate()
        stream.write(other)
        with pytest.raises(UnreadableTable):
            list(table.batches())


def test_values_at_risk_that_changed_since_the_scan_are_an_error():
    written = b'{"a": 12345678901234567890}\n'
    for other in (b'{"a": "1"}\n', written * 2, b"{", b'{"b": 1}\n', b'{"a": [}\n', b""):
        stream = io.BytesIO(written)
        table = scan_lines(JsonText(stream, FORMATS["jsonl"], ""))
        stream.seek(0)
        stream.truncate()
        stream.write(other)
        with pytest.raises(UnreadableTable):
            list(table.batches())


def test_names_after_the_first_thousand_are_columns_and_beyond_all_limits_rows_are_json():
    def document(names):
        return json.dumps({f"a{n}": n for n in range(names)}) + '\n{"b": 12345678901234567890}\n'

    table = open_table(io.BytesIO(document(1500).encode()), "t.jsonl")
    assert table.schema.names[-1] == "b"
    check(table, expected_rows(document(1500).encode()))
    table = open_table(io.BytesIO(document(10_001).encode()), "t.jsonl")
    assert table.notes[-1].text.startswith("Its objects have more than 10,000 names")
    check(table, expected_rows(document(10_001).encode()))
