"""Every Arrow type, plain and nested, in previews and queries: each value is that of the file in
its documented JSON form, or the answer names the column.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import struct

import duckdb
import pyarrow as pa
import pytest
from pipelines.queries.conftest import ADMIN
from pyarrow import ipc
from pyarrow import parquet as pq
from support.formats.arrow_types import IN_PARQUET, NESTED, SCALARS, array_of, nested
from support.formats.parquet_annotations import annotated
from support.formats.row_comparison import compare

from anabranch.errors import Invalid
from anabranch.model.uri import LakeUri


def written(table, name):
    stream = io.BytesIO()
    if name.endswith("parquet"):
        pq.write_table(table, stream)
    else:
        with ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
    return stream.getvalue()


def clock(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{rest:09}" if rest % 1000 else f".{rest // 1000:06}" if rest else "")


def period(months, days, nanoseconds):
    date = (f"{months}M" if months else "") + (f"{days}D" if days else "")
    if date and not nanoseconds:
        return f"P{date}"
    sign = "-" if nanoseconds < 0 else ""
    whole, rest = divmod(abs(nanoseconds), 10**9)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"P{date}T{sign}{whole}{fraction}S"


BARE = ("run_end_encoded",)
"""Types that Arrow does not write inside of others."""

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def form(scalar):  # noqa: C901, PLR0911, PLR0912  one for each kind of type
    """Returns the JSON form of a scalar, written down once more: by Python's own types."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        if kind == pa.uuid():
            return str(scalar.as_py())
        return bool(scalar.value.as_py()) if kind == pa.bool8() else form(scalar.value)
    if pa.types.is_dictionary(kind):
        return form(scalar.dictionary[scalar.index.as_py()])
    if pa.types.is_run_end_encoded(kind):
        return form(scalar.value) if hasattr(scalar, "value") else scalar.as_py()
    if pa.types.is_struct(kind):
        return {name: form(value) for name, value in scalar.items()}
    if pa.types.is_map(kind):
        return {
            key if isinstance(key := form(each["key"]), str) else json.dumps(key): form(
                each["value"]
            )
            for each in scalar.values
        }
    if pa.types.is_nested(kind):
        return [form(each) for each in scalar.values]
    if pa.types.is_interval(kind):
        return period(*scalar.as_py())
    if pa.types.is_duration(kind):
        return period(0, 0, scalar.value * UNITS[kind.unit])
    if pa.types.is_time(kind):
        return clock(scalar.value * UNITS[kind.unit])
    if pa.types.is_date(kind):
        days = scalar.value if pa.types.is_date32(kind) else scalar.value // 86_400_000
        return str(dt.date(1970, 1, 1) + dt.timedelta(days))
    if pa.types.is_timestamp(kind):
        days, rest = divmod(scalar.value * UNITS[kind.unit], 86_400 * 10**9)
        day = dt.date(1970, 1, 1) + dt.timedelta(days)
        return f"{day} {clock(rest)}" + ("" if kind.tz is None else "+00:00")
    value = scalar.as_py()
    if pa.types.is_integer(kind):
        return value if abs(value) <= 2**53 else str(value)
    if pa.types.is_decimal(kind):
        return f"{value:f}"
    return "\\x" + value.hex() if isinstance(value, bytes) else value


def table_of(names, shape):
    """Returns a table with a column of each type, with a null at the end."""
    columns = {}
    for name in names:
        kind, values = SCALARS[name]
        given = [values[number % len(values)] for number in range(4)]
        array = array_of(kind, [*given, None]) if name != "run_end_encoded" else None
        if array is None:
            array = array_of(kind, [*given, given[0]])
        columns[name] = one_field(array) if shape == "one_field" else nested(shape, array)
    return pa.table(columns)


def one_field(array):
    missing = pa.array([number == 2 for number in range(len(array))])
    return pa.StructArray.from_arrays([array], ["only"], mask=missing)


SHAPES = ["plain", "one_field", *(shape for shape in NESTED if shape != "plain")]
NOT_IN_PARQUET = ("list_view", "large_list_view")


@pytest.fixture(scope="module")
def exact(lake):
    """Returns the path of a file that holds a table."""

    def put(table, path):
        content = written(table, path)
        lake.objects.upload("sea", "main", path, [content])
        return path

    return put


def cases():
    for shape in SHAPES:
        yield "arrow", shape, [name for name in SCALARS if shape == "plain" or name not in BARE]
        if shape not in NOT_IN_PARQUET:
            plain = [name for name in IN_PARQUET if name not in BARE or shape == "plain"]
            # pyarrow does not write lists of structs with views
            views = ("string_view", "binary_view") if shape == "list_of_structs" else ()
            yield "parquet", shape, [name for name in plain if name not in views]


@pytest.mark.parametrize(("extension", "shape", "names"), list(cases()))
@pytest.mark.sample(1)
def test_each_value_is_that_of_the_file(queries, query, exact, extension, shape, names):
    table = table_of(names, shape)
    path = exact(table, f"exact/{shape}.{extension}")
    # as the file has it: Parquet has no float16 in some places, no durations of seconds, and so on
    stored = table
    if extension == "parquet":
        stored = pq.read_table(io.BytesIO(written(table, path)))
    forms = {name: [form(scalar) for scalar in stored[name]] for name in names}

    preview = queries.preview(ADMIN, LakeUri("sea", "main", path), max_rows=10)
    assert [column["name"] for column in preview["columns"]] == names
    for at, name in enumerate(names):
        assert [row[at] for row in preview["rows"]] == forms[name], name

    numbered = table.append_column("row number", pa.array(range(table.num_rows)))
    added = compare(path, None, written(numbered, path), key=["row number"]).items
    for name in names:
        assert [row.right[name] for row in added] == forms[name], name

    result = query("SELECT * FROM t", tables={"t": path})
    assert [column["name"] for column in result["columns"]] == names
    for at, name in enumerate(names):
        shown = [row[at] for row in result["rows"]]
        if shown != forms[name]:
            # as text, or without its zone, which a note says
            assert any(f"Column {name} is " in note for note in result["notes"]), (name, shown)
            assert [as_written(value) for value in shown] == [
                as_written(value) for value in forms[name]
            ], name


def as_written(value):
    """Returns a value without the form in which a note says that it is."""
    if isinstance(value, str) and value[:1] in "{[" and value:
        return as_written(json.loads(value))
    if isinstance(value, dict):
        return {name: as_written(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_written(item) for item in value]
    return value.removesuffix("+00:00") if isinstance(value, str) else value


def test_columns_that_sql_cannot_tell_apart_are_numbered(queries, query, exact):
    table = pa.table([pa.array([number]) for number in range(4)], names=["a", "A", "", "a"])
    path = exact(table, "exact/names.arrow")
    names = ["a", "A_1", "column2", "a_2"]
    preview = queries.preview(ADMIN, LakeUri("sea", "main", path), max_rows=1)
    assert [column["name"] for column in preview["columns"]] == names
    assert query("SELECT a_2, A_1, column2 FROM t", tables={"t": path})["rows"] == [[3, 1, 2]]


def test_a_map_with_a_key_twice_is_shown_and_refused_by_name_in_sql(queries, query, exact):
    kind = pa.map_(pa.string(), pa.int64())
    table = pa.table({"m": pa.array([[("k", 1), ("k", 2)]], kind), "id": [1]})
    path = exact(table, "exact/twice.arrow")
    preview = queries.preview(ADMIN, LakeUri("sea", "main", path), max_rows=1)
    assert preview["rows"] == [[[["k", 1], ["k", 2]], 1]]
    assert query("SELECT id FROM t", tables={"t": path})["rows"] == [[1]]
    with pytest.raises(Invalid, match="column m"):
        query("SELECT m FROM t", tables={"t": path})


def test_unions_are_shown_as_their_values(queries, query, exact):
    types, offsets = pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32())
    union = pa.UnionArray.from_dense(types, offsets, [pa.array([1, None]), pa.array(["x"])])
    path = exact(pa.table({"u": union, "id": [1, 2, 3]}), "exact/union.arrow")
    preview = queries.preview(ADMIN, LakeUri("sea", "main", path), max_rows=5)
    assert preview["rows"] == [[1, 1], ["x", 2], [None, 3]]
    result = query("SELECT u FROM t", tables={"t": path})
    assert result["rows"] == [["1"], ["x"], [None]]
    assert any("Column u is text in JSON" in note for note in result["notes"])


def test_results_of_sql_keep_their_digits(query):
    (row,) = query(
        "SELECT TIMESTAMP_NS '2024-01-01 00:00:00.123456789', INTERVAL '1 month 2 days 3 seconds', "
        "170141183460469231731687303715884105727::HUGEINT, {'t': TIMESTAMP_NS '1970-01-01'}"
    )["rows"]
    assert row == [
        "2024-01-01 00:00:00.123456789",
        "P1M2DT3S",
        str(2**127 - 1),
        {"t": "1970-01-01 00:00:00"},
    ]
    (row,) = query("SELECT 340282366920938463463374607431768211455::UHUGEINT, '101'::BIT")["rows"]
    assert row == [str(2**128 - 1), "101"]
    with pytest.raises(Invalid, match="cast one to VARCHAR"):
        query("SELECT 1::UHUGEINT, INTERVAL '1 day'")


def test_enumerations_and_intervals_of_parquet_are_one_text(queries, query, lake):
    period = struct.pack("<III", 1, 2, 3500)
    table = pa.table({"level": [b"low"], "i": pa.array([period], pa.binary(12))})
    content = annotated(written(table, "t.parquet"), "level", field=(6, 5, 4))
    content = annotated(content, "i", field=(6, 5, 21))
    path = "exact/annotated.parquet"
    lake.objects.upload("sea", "main", path, [content])
    expected = ["low", "P1M2DT3.5S"]
    assert queries.preview(ADMIN, LakeUri("sea", "main", path), max_rows=1)["rows"] == [expected]
    assert query("FROM t", tables={"t": path})["rows"] == [expected]
    (added,) = compare(path, None, content).items
    assert list(added.right.values()) == expected


INFINITE = (
    "DATE 'infinity' AS d, TIMESTAMP '-infinity' AS t, TIMESTAMPTZ 'infinity' AS z, "
    "[TIMESTAMP 'infinity', NULL] AS l, {'d': DATE '-infinity'} AS s, "
    "DATE '9999-12-31' AS last, TIMESTAMP '0001-01-01' AS first, 5::HUGEINT AS n, "
    "TIME '24:00:00' AS midnight"
)
SHOWN = [
    *("infinity", "-infinity", "infinity", ["infinity", None], {"d": "-infinity"}),
    *("9999-12-31", "0001-01-01 00:00:00", 5, "24:00:00"),
]


@pytest.mark.slow
def test_infinite_times_are_infinite(queries, query, lake, tmp_path):
    assert query(f"SELECT {INFINITE}")["rows"] == [SHOWN]
    shown = "* EXCLUDE (n, midnight)"
    duckdb.sql(f"COPY (SELECT {shown} FROM (SELECT {INFINITE})) TO '{tmp_path / 't.parquet'}'")
    content = (tmp_path / "t.parquet").read_bytes()
    path = "exact/infinite.parquet"
    lake.objects.upload("sea", "main", path, [content])
    at = LakeUri("sea", "main", path)
    assert queries.preview(ADMIN, at, max_rows=1)["rows"] == [SHOWN[:7]]
    assert query("FROM t", tables={"t": path})["rows"] == [SHOWN[:7]]
    (added,) = compare(path, None, content).items
    assert list(added.right.values()) == SHOWN[:7]
    columns = {each["name"]: each for each in queries.statistics(ADMIN, at)["columns"]}
    assert (columns["t"]["min"], columns["t"]["histogram"]) == ("-infinity", None)


def test_infinite_times_beside_types_that_only_python_has_are_refused(query):
    assert query("SELECT 1::UHUGEINT, DATE '2024-01-01'")["rows"] == [[1, "2024-01-01"]]
    for value in ("DATE 'infinity'", "[TIMESTAMPTZ '-infinity']"):
        with pytest.raises(Invalid, match="infinite dates or times"):
            query(f"SELECT 1::UHUGEINT, {value}")
    with pytest.raises(Invalid, match="BIGNUM: cast them to VARCHAR"):
        query("SELECT 12345678901234567890123::BIGNUM")


def test_dates_have_one_form_in_previews_and_queries(query):
    (row,) = query("SELECT DATE '0044-03-15 (BC)', TIMESTAMP '20240-05-06 07:08:09.5'")["rows"]
    assert row == ["-0043-03-15", "20240-05-06 07:08:09.500000"]
