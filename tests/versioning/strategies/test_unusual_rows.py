"""Tables with unusual names, cells, headers and encodings in the strategy `rows`."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.formats.keyed_tables import COLUMNS, FORMATS, QUICK

from anabranch.errors import Conflict

from .test_rows import run, table

UNUSUAL = st.text(
    st.sampled_from("ab \t\n\r\x0b\x0c\x1c\x85\u2028'\"\\,;#{}[]*\u00e9\U0001f600\ufeff"),
    min_size=1,
    max_size=6,
)


@QUICK
@given(UNUSUAL, st.lists(UNUSUAL, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_unusual_characters_in_names_and_cells_are_kept(name, cells, line_end):
    def written(rows):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=line_end, quoting=csv.QUOTE_ALL)
        writer.writerow(["key", name])
        writer.writerows(rows)
        return text.getvalue().encode()

    rows = [[str(number), cell] for number, cell in enumerate(cells)]
    base, source = written(rows[:1]), written(rows)
    merged = run("t.csv", base, source, base, key="key").files["t.csv"].decode()
    found = list(csv.reader(io.StringIO(merged, newline=""), strict=True))
    assert found == [["key", name], *rows]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (b'id,""a', ["id", "a"]),
        (b'id,"a"', ["id", "a"]),
        (b"id," + b"a" * 100_000, ["id", "a" * 100_000]),
        (b'id,"a\r"', ["id", "a\r"]),
        (b'id,"a\n\r\nb"', ["id", "a\n\r\nb"]),
        (b"\n\nid,a", ["id", "a"]),
    ],
)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.sample(2)
def test_unusual_headers_lose_no_rows(header, names, line_end):
    source = header + b'\n1,"x\ny"\n2,"z"'.replace(b"\n", line_end) + line_end
    base = b"id,a\n1,x\n"
    merged = run("t.csv", base, source, base, key="id").files["t.csv"].decode()
    found, *rows = csv.reader(io.StringIO(merged, newline=""), strict=True)
    assert found == names
    assert [row[0] for row in rows] == ["1", "2"]


@pytest.mark.parametrize("content", [b'id,a\n1,x\n2,"y', b'id,a\n1,x\n2,"y\n3,z\n', b'id,a\n1,"'])
def test_csv_that_ends_within_quotes_is_refused(content):
    base = b"id,a\n1,x\n"
    with pytest.raises(Conflict, match="the source cannot be read as CSV: it ends within quotes"):
        run("t.csv", base, content, base, key="id")


def test_single_quotes_within_cells_are_text():
    base, source = b"id,a\n1,x\n", b'id,a\n1,x\n2,5" pipe\n'
    merged = run("t.csv", base, source, base, key="id").files["t.csv"]
    assert list(csv.reader(merged.decode().splitlines()))[2] == ["2", '5" pipe']


@pytest.mark.parametrize("folder", ["a*b", "a[b]", "a?b", "{a,b}", "year=2020", "a'b", "a\nb"])
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.sample(2)
def test_paths_of_files_are_no_patterns(tmp_path, monkeypatch, folder, name):
    write, _ = FORMATS[name]
    place = tmp_path / folder
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    source, destination = table(k1=("S", "y", "z")), table(k1=("x", "D", "z"))
    base = write(table(k1=("x", "y", "z")), COLUMNS)
    sides = base, write(source, COLUMNS), write(destination, COLUMNS)
    ran = run(f"t.{name}", *sides, key="id")
    assert FORMATS[name][1](ran.files[f"t.{name}"])[0] == table(k1=("S", "D", "z"))


def test_a_file_whose_encoding_changes_in_the_middle_is_refused():
    base = b"id,a\n1,x\n"
    lines = b"".join(b"%d,%s\n" % (number, b"x" * 100) for number in range(20_000))
    source = base[:5] + "-1,café\n".encode() + lines + b"20001,caf\xe9\n"
    with pytest.raises(Conflict, match=r"the source .* lines are UTF-8, and others are not"):
        run("t.csv", base, source, base, key="id")
