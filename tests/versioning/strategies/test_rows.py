"""The strategy `rows`, compared with a merge of dictionaries and with DuckDB."""

import io
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from support.formats.keyed_tables import COLUMNS, FORMATS, QUICK, TABLES, parquet

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy


def run(path, base, source, destination, **options):
    return run_strategy(
        rows_strategy(options), path, base=base, source=source, destination=destination
    )


def merge_rows(base, source, destination):
    """Returns the merge of tables as dictionaries, and the (key, column) that conflict."""
    merged, conflicts = {}, set()
    for key in {**destination, **source, **base}:
        rows = [table.get(key) for table in (base, source, destination)]
        was, theirs, ours = rows
        if theirs is None and ours is None:
            continue
        if theirs is None or ours is None:
            there = theirs or ours
            if was is None:
                merged[key] = there
            elif there != was:
                conflicts.add((key, ""))
            continue
        merged[key] = {}
        for name in ours:
            before = None if was is None else was[name]
            if theirs[name] == ours[name] or (was is not None and theirs[name] == before):
                merged[key][name] = ours[name]
            elif was is not None and ours[name] == before:
                merged[key][name] = theirs[name]
            else:
                conflicts.add((key, name))
    return merged, conflicts


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(TABLES, TABLES, TABLES)
def test_a_merge_is_that_of_dictionaries(name, base, source, destination):
    write, read = FORMATS[name]
    merged, conflicts = merge_rows(base, source, destination)
    ran = run(
        f"t.{name}", *(write(table, COLUMNS) for table in (base, source, destination)), key="id"
    )
    assert {(each.key["id"], each.column) for each in ran.conflicts} == conflicts
    if not conflicts:
        rows, names = read(ran.files[f"t.{name}"])
        assert rows == merged
        assert list(rows) == [
            *(k for k in destination if k in merged),
            *(k for k in source if k in merged and k not in destination),
        ]
        assert names == ["id", *COLUMNS]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(TABLES, TABLES, TABLES)
def test_both_directions_have_the_same_rows(name, base, left, right):
    write, read = FORMATS[name]
    files = [write(table, COLUMNS) for table in (base, left, right)]
    one = run(f"t.{name}", *files, key="id")
    other = run(f"t.{name}", files[0], files[2], files[1], key="id")
    assert len(one.conflicts) == len(other.conflicts)
    if not one.conflicts:
        (rows, _), (others, _) = (read(each.files[f"t.{name}"]) for each in (one, other))
        assert rows == others


@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(TABLES, TABLES)
@pytest.mark.sample(1)
def test_merges_with_the_base_and_with_itself_change_nothing(name, base, changed):
    write, read = FORMATS[name]
    before, after = write(base, COLUMNS), write(changed, COLUMNS)
    for sides in ((before, after, before), (before, before, after), (before, after, after)):
        assert read(run(f"t.{name}", *sides, key="id").files[f"t.{name}"])[0] == changed


def table(**rows):
    return {key: dict(zip(COLUMNS, cells, strict=True)) for key, cells in rows.items()}


BASE = table(k1=("x", "y", "z"), k2=("x", "y", "z"))


@pytest.mark.parametrize("name", FORMATS)
def test_cells_of_one_row_come_from_both_sides(name):
    write, read = FORMATS[name]
    source = table(k1=("S", "y", "z"), k2=("x", "y", "z"))
    destination = table(k1=("x", "D", "z"), k2=("x", "y", "z"))
    ran = run(f"t.{name}", *(write(each, COLUMNS) for each in (BASE, source, destination)))
    assert read(ran.files[f"t.{name}"])[0]["k1"] == {"a": "S", "b": "D", "c": "z"}


@pytest.mark.parametrize("name", FORMATS)
def test_conflicts_name_key_column_and_values(name):
    write, _ = FORMATS[name]
    source = table(k1=("S", "y", "z"))
    destination = table(k1=("D", "y", "z"), k2=("x", "y", "D"))
    ran = run(f"t.{name}", *(write(each, COLUMNS) for each in (BASE, source, destination)))
    removed, cell = sorted(ran.conflicts, key=lambda conflict: conflict.column)
    assert (removed.key, removed.column, removed.source) == ({"id": "k2"}, "", None)
    assert removed.destination == {"a": "x", "b": "y", "c": "D"}
    assert (cell.key, cell.column) == ({"id": "k1"}, "a")
    assert (cell.base, cell.source, cell.destination) == ("x", "S", "D")


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMATS)
def test_columns_are_added_and_dropped_by_either_side(name):
    write, read = FORMATS[name]
    base = write(BASE, COLUMNS)
    added = {key: {**row, "n": "new"} for key, row in BASE.items()}
    source, destination = write(added, ("a", "n", "b", "c")), write(BASE, ("a", "b"))
    for sides in ((source, destination), (destination, source)):
        rows, names = read(run(f"t.{name}", base, *sides).files[f"t.{name}"])
        assert names == ["id", "a", "n", "b"]
        assert rows["k1"] == {"a": "x", "n": "new", "b": "y"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMATS)
def test_changes_of_a_dropped_column_conflict(name):
    write, _ = FORMATS[name]
    changed = table(k1=("x", "y", "changed"), k2=("x", "y", "z"))
    ran = run(f"t.{name}", write(BASE, COLUMNS), write(changed, COLUMNS), write(BASE, "ab"))
    (conflict,) = ran.conflicts
    assert (conflict.key, conflict.column) == ({"id": "k1"}, "c")
    assert (conflict.base, conflict.source, conflict.destination) == ("z", "changed", None)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", FORMATS)
def test_tables_that_both_sides_added_are_merged(name):
    write, read = FORMATS[name]
    source, destination = table(k1=("x", "y", "z")), table(k2=("x", "y", "z"))
    sides = write(source, COLUMNS), write(destination, COLUMNS)
    assert read(run(f"t.{name}", None, *sides).files[f"t.{name}"])[0] == BASE
    other = table(k1=("x", "y", "OTHER"))
    (conflict,) = run(f"t.{name}", None, sides[0], write(other, COLUMNS)).conflicts
    assert (conflict.column, conflict.base) == ("c", None)


@pytest.mark.parametrize(("source", "destination"), [(None, b"id\n1\n"), (b"id\n1\n", None)])
def test_deletions_against_changes_conflict(source, destination):
    (conflict,) = run("t.csv", b"id\n2\n", source, destination).conflicts
    assert "deleted the table" in conflict.message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"id,a\n1,x\n1,y\n", "the source has the key id=1 more than once"),
        (b"a\nx\n", "the source has no key column 'id'"),
        (b"id,a\n,x\n", "the source has a row without a key"),
        (b"id,a\n1,x,y\n", "the source cannot be read as CSV"),
        (b'id,a\n1,"x\n', "the source cannot be read as CSV"),
        (b"id,a,a\n1,x,y\n", "the source has the column 'a' twice"),
        (b"", "the source has no header"),
        (
            b"id,a\n1,\xff\n2,\xc3\xa9\n",
            "the source is of several encodings: some of its lines",
        ),
        (
            b"\xef\xbb\xbfid,a\n1,\xff\n",
            "the source is of several encodings: some of its lines",
        ),
        (b"\xff\xfei\0d\0,\0a\0\n\0\x01", "the source has bytes that are not UTF-16 LE"),
        (b"\n \n", "the source has no header"),
        (b"id,a\0\n1,x\n", "the source has the column .*, whose name has a zero character"),
        (b"id,,b\n1,x,y\n", "the source has a column without a name"),
        (b"id,a,A\n1,x,y\n", "the source has the columns 'a' and 'A', which differ in case only"),
        (b"id,anabranch row number\n1,x\n", "the source has a column with the reserved name"),
    ],
)
@pytest.mark.sample(8)
def test_csv_that_cannot_be_merged_is_refused_with_the_reason(content, reason):
    with pytest.raises(Conflict, match=reason) as refused:
        run("t.csv", b"id,a\n1,x\n", content, b"id,a\n1,z\n", key=["id"])
    assert refused.value.kind == "merge_failed"


def test_spelling_of_cells_and_the_form_of_the_file_are_kept():
    base = '\ufeffid;v;n\r\n1;007;\r\n2;1e3;""\r\n3;"a\r\nb";x\r\n'.encode()
    source = base.replace(b"007", b"008")
    destination = base.replace(b";x\r\n", b";y\r\n")
    expected = source.replace(b";x\r\n", b";y\r\n")
    assert run("t.csv", base, source, destination).files == {"t.csv": expected}


def test_tsv_is_merged():
    ran = run("t.tsv", b"id\ta\n1\tx\n", b"id\ta\n1\ty\n", b"id\ta\n1\tx\n2\tz\n")
    assert ran.files == {"t.tsv": b"id\ta\n1\ty\n2\tz\n"}


def test_types_widen_and_the_schema_of_the_destination_is_kept():
    narrow = {"id": pa.int32(), "v": pa.int32(), "d": pa.date32()}
    wide = {"id": pa.int32(), "v": pa.float64(), "d": pa.timestamp("us")}
    base = parquet(narrow, [(1, 1, None), (2, 2, None)])
    source = parquet(wide, [(1, 1.5, None), (2, 2.0, None)])
    destination = parquet(narrow, [(1, 1, None), (2, 3, None)], compression="zstd")
    merged = run("t.parquet", base, source, destination).files["t.parquet"]
    found = pq.ParquetFile(io.BytesIO(merged))
    assert found.read().to_pylist() == [
        {"id": 1, "v": 1.5, "d": None},
        {"id": 2, "v": 3.0, "d": None},
    ]
    assert found.schema_arrow.field("id").type == pa.int32()
    assert found.schema_arrow.metadata[b"owner"] == b"ada"
    assert found.metadata.row_group(0).column(0).compression == "ZSTD"


def test_clashing_types_are_named():
    base = parquet({"id": pa.int64(), "v": pa.int64()}, [(1, 1)])
    source = parquet({"id": pa.int64(), "v": pa.string()}, [(1, "x")])
    destination = parquet({"id": pa.int64(), "v": pa.int64()}, [(1, 2)])
    with pytest.raises(Conflict, match="the column 'v' has clashing types: BIGINT and VARCHAR"):
        run("t.parquet", base, source, destination)


def test_nested_columns_are_one_value_and_nan_equals_nan():
    types = {
        "id": pa.int64(),
        "l": pa.list_(pa.int64()),
        "f": pa.float64(),
        "s": pa.struct([("x", pa.string())]),
    }
    nan = float("nan")
    base = parquet(types, [(1, [1, 2], nan, {"x": "a"}), (2, [], None, None)])
    source = parquet(types, [(1, [1, 3], nan, {"x": "a"}), (2, [], None, None)])
    destination = parquet(types, [(1, [1, 2], nan, {"x": "b"}), (2, [], None, None)])
    merged = run("t.parquet", base, source, destination).files["t.parquet"]
    first, second = pq.read_table(io.BytesIO(merged)).to_pylist()
    assert (first["l"], first["s"]) == ([1, 3], {"x": "b"})
    assert second == {"id": 2, "l": [], "f": None, "s": None}


def test_a_file_that_is_cut_off_is_refused():
    whole = parquet({"id": pa.int64()}, [(1,)])
    with pytest.raises(Conflict, match="the destination cannot be read as Parquet"):
        run("t.parquet", whole, whole, whole[:-10])


def test_a_key_is_detected():
    rows = b"name,user_id,n\na,1,1\na,2,1\n"
    changed = rows.replace(b"a,1,1", b"a,1,9")
    added = rows + b"b,3,1\n"
    assert run("t.csv", rows, changed, added).files == {"t.csv": changed + b"b,3,1\n"}
    with pytest.raises(Conflict, match="no column has a different value in each row"):
        run("t.csv", b"a\nx\nx\n", b"a\nx\ny\nx\n", b"a\nx\n")


@pytest.mark.parametrize(
    "options", [{"keys": "id"}, {"key": 7}, {"key": [1]}, {"key": [""]}, {"format": "xls"}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(Invalid) as refused:
        rows_strategy(options)
    assert refused.value.kind == "invalid_merge_options"


def test_paths_that_are_no_table_are_refused_unless_the_format_is_given():
    sides = b"id\n1\n", b"id\n1\n2\n", b"id\n"
    with pytest.raises(Conflict, match=r"t\.bin is no table"):
        run("t.bin", *sides)
    assert run("t.bin", *sides, format="csv").files == {"t.bin": b"id\n2\n"}


@pytest.mark.parametrize("kind", [pa.struct([("x", pa.int64())]), pa.date32(), pa.list_(pa.int8())])
def test_types_that_have_nothing_in_common_are_named(kind):
    value = {"x": 1} if pa.types.is_struct(kind) else [1] if pa.types.is_list(kind) else 1
    base = parquet({"id": pa.int64(), "v": pa.int64()}, [(1, 1)])
    source = parquet({"id": pa.int64(), "v": kind}, [(1, value)])
    with pytest.raises(Conflict, match="the column 'v' has clashing types"):
        run("t.parquet", base, source, parquet({"id": pa.int64(), "v": pa.int64()}, [(1, 2)]))


@pytest.mark.parametrize("name", FORMATS)
def test_repeated_and_missing_keys_are_named_in_every_format(name):
    write, _ = FORMATS[name]
    base = write(table(k1=("x", "y", "z")), COLUMNS)
    twice = write(table(k1=("x", "y", "z"), k2=("x", "p", "q")), COLUMNS)
    with pytest.raises(Conflict, match=r"the source has the key a=.?x.? more than once"):
        run(f"t.{name}", base, twice, base, key="a")
    reason = "without a key" if name == "jsonl" else "has no key column 'nope'"
    with pytest.raises(Conflict, match=reason):
        run(f"t.{name}", base, twice, base, key="nope")


def test_values_of_conflicts_are_json_values():
    types = {
        "id": pa.decimal128(5, 2),
        "x": pa.float64(),
        "b": pa.binary(),
        "t": pa.timestamp("us"),
        "s": pa.struct([("d", pa.decimal128(20, 1))]),
    }

    def side(number, value):
        cells = (value, bytes([254 + number]), 1_000_000 * number, {"d": Decimal(f"{number}.5")})
        return parquet(types, [(Decimal("1.50"), *cells)])

    ran = run("t.parquet", side(0, 1.0), side(1, math.nan), side(-1, math.inf), key="id")
    found = {each.column: (each.base, each.source, each.destination) for each in ran.conflicts}
    assert found == {
        "x": (1.0, "NaN", "Infinity"),
        "b": ("\\xfe", "\\xff", "\\xfd"),
        "t": (
            "1970-01-01 00:00:00",
            "1970-01-01 00:00:01",
            "1969-12-31 23:59:59",
        ),
        "s": ({"d": "0.5"}, {"d": "1.5"}, {"d": "-1.5"}),
    }
    assert {tuple(each.key.items()) for each in ran.conflicts} == {(("id", "1.50"),)}
