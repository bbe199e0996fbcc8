"""Merges and differences of CSV whose versions are in different encodings, by a plain model."""

import csv
import gzip
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.row_comparison import compare
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

HEADER = ("id", "a_column_with_a_long_name", "b")
WINDOWS = "windows"
ENCODINGS = {
    "utf-8": "",
    "utf-8-sig": "",
    "utf-16-le": "\ufeff",
    "utf-16-be": "\ufeff",
    "utf-32-le": "\ufeff",
    "utf-32-be": "\ufeff",
    "utf-16-le without a mark": "",
    WINDOWS: "",
}


def merge(base, source, destination):
    run = run_strategy(
        rows_strategy({"key": "id"}), "t.csv", base=base, source=source, destination=destination
    )
    assert run.conflicts == []
    return run.files["t.csv"]


def in_windows(text):
    """Returns text in Windows-1252, whose undefined bytes are those of Latin-1."""
    found = []
    for character in text:
        is_undefined = character in "\x81\x8d\x8f\x90\x9d"
        found.append(character.encode("latin-1" if is_undefined else "cp1252"))
    return b"".join(found)


def in_encoding(text, name):
    if name == WINDOWS:
        return in_windows(text)
    return (ENCODINGS[name] + text).encode(name.split(" ")[0])


def is_written_by(text, name):
    """Returns whether text is read by the encoding in which it was written."""
    if name != WINDOWS:
        return True
    try:
        lines = in_windows(text).splitlines()
    except UnicodeEncodeError:
        return False
    return not any(not line.isascii() and is_utf8(line) for line in lines)


def is_utf8(line):
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def spelled(rows, end):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(HEADER)
    writer.writerows((key, *cells) for key, cells in rows.items())
    return text.getvalue()


CELLS = st.sampled_from(["x", "José", "€ 5", "\x81", "日本", "Ã©", "a,é", "two\nlinés", "😀", "œ"])
ROWS = st.dictionaries(st.integers(1, 5), st.tuples(CELLS, CELLS), max_size=4)


@settings(max_examples=examples(16), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.dictionaries(st.integers(6, 8), st.tuples(CELLS, CELLS), max_size=2), st.data())
def test_a_merge_is_that_of_the_texts_in_the_encoding_of_the_destination(rows, added, data):
    source, destination = rows | added, dict(rows)
    for key, cells in rows.items():
        side = data.draw(st.sampled_from([None, source, destination]))
        if side is not None:
            side[key] = (data.draw(CELLS), cells[1])
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    texts, names = {}, {}
    for side, table in (("base", rows), ("source", source), ("destination", destination)):
        texts[side] = spelled(table, end)
        names[side] = data.draw(
            st.sampled_from([name for name in ENCODINGS if is_written_by(texts[side], name)])
        )
    base, theirs, ours = (in_encoding(texts[side], names[side]) for side in texts)

    expected = {
        key: source[key] if source[key] != rows[key] else destination[key] for key in rows
    } | added
    text, name = spelled(expected, end), names["destination"]
    if ours.isascii() and "16" not in name and "32" not in name:
        name = next(
            (
                names[side].removesuffix("-sig")
                for side in ("base", "source")
                if names[side] in (WINDOWS, "utf-8", "utf-8-sig")
                and not in_encoding(texts[side], names[side]).isascii()
            ),
            "utf-8",
        )
    changed = {item.key["id"]: item.right for item in compare("t.csv", base, theirs).items}
    assert changed == {
        str(key): dict(zip(HEADER, (str(key), *cells), strict=True))
        for key, cells in source.items()
        if rows.get(key) != cells
    }
    if is_written_by(text, name):
        assert merge(base, theirs, ours) == in_encoding(text, name)
    else:
        with pytest.raises(Conflict) as refused:
            merge(base, theirs, ours)
        named = [column for column in HEADER if f"'{column}'" in refused.value.message]
        places = [HEADER.index(column) - 1 for column in named]
        assert [any(not row[at].isascii() for row in expected.values()) for at in places] == [True]


def test_a_value_that_the_destination_cannot_hold_is_refused_with_its_column():
    base = "id,a,b\n1,é,x\n2,y,z\n"
    ours = base.encode("latin-1")
    theirs = base.replace("z", "z 日").encode()
    with pytest.raises(Conflict) as refused:
        merge(base.encode("utf-16"), theirs, ours)
    assert refused.value.kind == "merge_failed"
    assert refused.value.message == (
        "the column 'b' has a value with '日' (U+65E5), which Windows-1252 does not have"
    )
    added = "id,a,b,naïve 日\n1,é,x,\n2,y,z,\n".encode()
    with pytest.raises(Conflict, match="the name of the column 'naïve 日' with '日'"):
        merge(ours, added, ours)


def test_a_line_that_would_be_read_as_utf8_is_refused_with_its_column():
    base = "id,a,b\n1,Ã©,ü\n2,y,é\n"
    ours = base.encode("latin-1")
    assert merge(ours, base.replace("ü", "ö").encode(), ours) == ours.replace(b"\xfc", b"\xf6")
    with pytest.raises(Conflict, match="the column 'a' has a value with characters that, as Win"):
        merge(ours, base.replace("ü", "u").encode(), ours)
    with pytest.raises(Conflict, match="the column 'b' has a value with characters that, as Win"):
        merge(ours, (base + "3,z,Â°\n").encode(), ours)


def test_other_bytes_than_those_of_the_changed_cells_stay():
    every = bytes(number for number in range(0x80, 0x100))
    base = b"id;a;b\n1;x;" + every + b"\n2;y;\xff"
    assert merge(base, base.replace(b"x", b"\xe9"), base.replace(b"y", b"\x81")) == (
        b"id;a;b\n1;\xe9;" + every + b"\n2;\x81;\xff"
    )


def test_an_added_column_of_a_utf16_source_is_written_in_the_encoding_of_the_destination():
    base = b"id,v\n1,\xe9\n2,y\n"
    theirs = "id\tgröße\tv\r\n1\tm²\té\r\n2\t,\ty\r\n".encode("utf-16")
    assert merge(base, theirs, base) == 'id,größe,v\n1,m²,é\n2,",",y\n'.encode("latin-1")
    (row, _) = compare("t.csv", base, theirs, key=["id"]).items
    assert row.right == {"id": "1", "größe": "m²", "v": "é"}


def test_compressed_text_is_decoded_and_encoded_again():
    base = "id,v\n1,é\n2,y\n".encode("utf-16")
    theirs = "id,v\n1,è\n2,y\n".encode("latin-1")
    run = run_strategy(
        rows_strategy({"key": "id"}),
        "t.csv.gz",
        base=gzip.compress(base),
        source=gzip.compress(theirs),
        destination=gzip.compress(base),
    )
    assert gzip.decompress(run.files["t.csv.gz"]) == "id,v\n1,è\n2,y\n".encode("utf-16")


def test_differences_say_how_each_side_was_read():
    text = "id,v\n1,é\n2,b\n"
    page = compare("t.csv", text.encode("utf-16"), text.replace("b", "ü").encode("latin-1"))
    assert [(row.key, row.columns) for row in page.items] == [({"id": "2"}, ["v"])]
    assert page.notes == {
        "left": ["Encoding: UTF-16 LE."],
        "right": ["Encoding: Windows-1252 (Latin-1)."],
    }
    assert compare("t.csv", None, b"id\n1\n").notes == {"right": ["Encoding: UTF-8."]}
    lines = '{"id": 1}\n'
    page = compare("t.jsonl", lines.encode("utf-16"), lines.encode())
    assert page.notes == {"left": ["Encoding: UTF-16 LE."], "right": ["Encoding: UTF-8."]}
    assert not page.items


def test_files_of_several_encodings_are_compared_as_they_are_shown():
    mixed = "id,v\n1,é\n".encode() + "2,é\n".encode("latin-1")
    page = compare("t.csv", mixed, "id,v\n1,é\n2,ü\n".encode(), key=["id"])
    assert [(row.left, row.right) for row in page.items] == [
        ({"id": "2", "v": "é"}, {"id": "2", "v": "ü"})
    ]
    assert page.notes["left"] == [
        "Encoding: UTF-8.",
        "1 line that is not UTF-8, and read as Windows-1252.",
        "Cells are separated by a comma.",
    ]
