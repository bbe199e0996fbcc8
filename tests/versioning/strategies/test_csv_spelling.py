"""How merged CSV is spelled: as the sides spell it, byte for byte."""

import csv
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.row_comparison import compare
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy


def merge(base, source, destination, path="t.csv", **options):
    run = run_strategy(
        rows_strategy(options), path, base=base, source=source, destination=destination
    )
    assert run.conflicts == []
    return run.files[path]


def test_a_first_column_without_a_name_is_a_column():
    base = b",id,b\n0,1,1\n1,2,2\n"
    source, destination = base.replace(b"1,1\n", b"1,9\n"), base.replace(b"2,2\n", b"2,8\n")
    assert merge(base, source, destination) == b",id,b\n0,1,9\n1,2,8\n"
    (found,) = compare("t.csv", base, source).items
    assert found.left == {"column0": "0", "id": "1", "b": "1"}
    only = b",a\nx,1\ny,2\n"
    assert merge(only, only.replace(b"1", b"3"), only, key="column0") == b",a\nx,3\ny,2\n"


@pytest.mark.parametrize(
    ("base", "source", "destination", "merged"),
    [
        (b"id,v\n1,1\n2,2", b"id,v\n1,9\n2,2", b"id,v\n1,1\n2,8", b"id,v\n1,9\n2,8"),
        (b"id,v\n1,1\n2,2", b"id,v\n1,1\n2,2\n3,3\n", b"id,v\n1,1\n2,2", b"id,v\n1,1\n2,2\n3,3"),
        (b"id,v\n1,1\n2,2", b"id,v\n1,1\n", b"id,v\n1,1\n2,2", b"id,v\n1,1"),
        (b"id,v", b"id,v\n1,1\n", b"id,v", b"id,v\n1,1"),
        (b"id,v\n", b"id,v\n1,1", b"id,v\n", b"id,v\n1,1\n"),
        (b"id,v\r\n1,1\r\n", b"id,v\n1,1\n2,2\n", b"id,v\r\n1,1\r\n", b"id,v\r\n1,1\r\n2,2\r\n"),
        (
            b"id,v\n1,1\r\n\n2,2\n\n\n3,3\r\n\n",
            b"id,v\n1,1\n2,S\n3,3\n4,4\n",
            b"id,v\n1,1\r\n\n2,2\n\n\n3,3\r\n\n",
            b"id,v\n1,1\r\n\n2,S\n\n\n3,3\r\n4,4\n\n",
        ),
        (
            b'id,"v",w\n1,"a, b","1"\n2,x,"2"\n',
            b'id,v,w\n1,"a, b",1\n2,y,2\n',
            b'id,"v",w\n1,"a, b","1"\n2,x,"3"\n',
            b'id,"v",w\n1,"a, b","1"\n2,y,"3"\n',
        ),
        (
            b"id;v\n1;a\n",
            b"id,v\n1,a\n2,b;c\n",
            b"id;v\n1;a\n",
            b'id;v\n1;a\n2;"b;c"\n',
        ),
        (
            b'\xef\xbb\xbfid,"a"\n1,"x"\n',
            b"id,n,a\n1,new,x\n",
            b'\xef\xbb\xbfid,"a"\n1,"x"\n2,"y"\n',
            b'\xef\xbb\xbfid,n,"a"\n1,new,"x"\n2,,"y"\n',
        ),
        (b"id,a,b\n1,x,y\n", b"id,b\n1,y\n", b"id,a,b\n1,x,y\n2,x,z\n", b"id,b\n1,y\n2,z\n"),
        (b"id\n1\n", b"id\n1\n2\n", b"id\n1\n3\n", b"id\n1\n3\n2\n"),
    ],
)
@pytest.mark.sample(4)
def test_spelling_is_that_of_the_sides(base, source, destination, merged):
    assert merge(base, source, destination, key="id") == merged


def test_quotes_within_cells_keep_their_spelling():
    base = b'id,a\n1,5" pipe\n2,x\n3,"q""r"\n'
    source = base.replace(b"2,x", b'2,6" pipe')
    destination = base + b"4,z\n"
    assert merge(base, source, destination, key="id") == source + b"4,z\n"


CELLS = st.sampled_from(
    [
        b"",
        b"x",
        b'""',
        b'"x"',
        b'"a,b"',
        b'"a\nb"',
        b'"a\r\nb"',
        b'"q""r"',
        b"5 m",
        b" y ",
        b"\xc3\xa9",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\r\n\n"])


@st.composite
def tables(draw):
    """Returns the rows of a table by key: two cells and the line end."""
    keys = draw(st.lists(st.integers(1, 9), max_size=6, unique=True))
    return {key: (draw(CELLS), draw(CELLS), draw(ENDS)) for key in keys}


def spelled(rows):
    lines = [b"%d,%b,%b%b" % (key, *cells) for key, cells in rows.items()]
    return b'id,"a",b\n' + b"".join(lines)


def parsed(content):
    return [tuple(row) for row in csv.reader(io.StringIO(content.decode(), newline="")) if row]


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), tables(), st.booleans())
def test_a_side_that_changed_alone_is_taken(base, changed, has_last_end):
    before, after = spelled(base), spelled(changed)
    if not has_last_end:
        after = after.rstrip(b"\r\n")
    assert merge(before, before, after, key="id") == after
    assert merge(before, after, after, key="id") == after
    assert sorted(parsed(merge(before, after, before, key="id"))) == sorted(parsed(after))


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data())
def test_untouched_rows_of_both_sides_keep_their_bytes(rows, data):
    source, destination = dict(rows), dict(rows)
    for key in rows:
        side = data.draw(st.sampled_from([None, source, destination]))
        if side is not None:
            side[key] = (data.draw(CELLS), *rows[key][1:])
    merged = merge(spelled(rows), spelled(source), spelled(destination), key="id")
    expected = {key: source[key] if source[key] != rows[key] else destination[key] for key in rows}
    # a cell that is only spelled differently is the destination's
    same = {key for key in rows if parsed(b"," + source[key][0]) == parsed(b"," + rows[key][0])}
    same -= {key for key in rows if {source[key][0], rows[key][0]} == {b"", b'""'}}
    expected |= {key: destination[key] for key in same}
    assert merged == spelled(expected)


@pytest.mark.slow
def test_a_thousand_columns_and_more_are_compared_and_merged():
    def text(first, last):
        head = "id," + ",".join(f"g{number}" for number in range(3000))
        cells = ["0"] * 2998
        return f"{head}\n1,{first},{','.join(cells)},{last}\n2,0,{','.join(cells)},0\n".encode()

    merged = merge(text(0, 0), text(1, 0), text(0, 2))
    assert merged == text(1, 2)
    (found,) = compare("t.csv", text(0, 0), text(0, 2), key=["id"]).items
    assert found.columns == ["g2999"]
    (gone, new) = compare("t.csv", text(0, 0), text(0, 2), whole_rows=True).items
    assert (gone.kind, new.kind, new.right["g2999"]) == ("removed", "added", "2")


def test_records_that_can_be_read_in_two_ways_are_refused():
    base = b'id,a\n1,x\n2,"a"b"c\nd"\n'
    with pytest.raises(Conflict) as refused:
        merge(base, base + b"3,y\n", base, key="id")
    assert refused.value.kind == "merge_failed"
