"""Checks of every Arrow type, plain and nested: of the values of the file, or refused by column."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc
from support.formats.arrow_types import SCALARS, array_of, nested
from support.hooks.hook_runs import hook_context

from anabranch.actions.hooks.checks.check import check
from anabranch.actions.hooks.checks.tables.table_checks import table_checks
from anabranch.errors import HookFailed
from anabranch.tables.json_values import json_column

SHAPES = ("plain", "list", "struct", "map")
REFUSED = (
    "bool",
    "binary",
    "fixed_size",
    "duration",
    "interval",
    "uuid",
    "json",
    "opaque",
    "large_b",
)
"""Beginnings of the names of types that no bound is compared with."""

VIEWS_IN_STRUCTS = [f"{kind}_view-struct" for kind in ("string", "binary")]
"""Arrow does not write these."""

CASES = [
    (name, shape)
    for name in SCALARS
    for shape in SHAPES
    if f"{name}-{shape}" not in VIEWS_IN_STRUCTS
]


def column(name, shape, values, nulls=()):
    kind = SCALARS[name][0]
    array = array_of(kind, values)
    missing = [number in nulls for number in range(len(values))]
    if shape == "plain":
        return array
    return nested(shape, array, missing, is_numbered=False)


def files(array):
    """Yields a table with the column `a` in the formats that have its type."""
    table = pa.table({"a": array, "b": pa.array(range(len(array)), pa.int32())})
    sink = io.BytesIO()
    with ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    yield "t.arrow", sink.getvalue()
    try:
        sink = io.BytesIO()
        pq.write_table(table, sink)
    except (pa.ArrowException, NotImplementedError):
        return
    yield "t.parquet", sink.getvalue()


def problems(lake, array, *rules):
    """Yields, for each rule, the problem that it finds in each format, "" without one."""
    contents = dict(files(array))
    lake.put("dev", **contents)
    for rule in rules:
        yield [problem(lake, path, rule) for path in contents]


def problem(lake, path, rule):
    given = check({"tables": [{"path": path, **rule}]}).tables.properties
    try:
        table_checks(given).run(hook_context(lake, reference="dev", base="main"))
    except HookFailed as failed:
        return failed.message.replace(path, "t")
    return ""


def only(found):
    """Returns the problem that a rule finds in all formats."""
    ((shared,),) = map(set, found)
    return shared


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_keys_are_compared_as_they_are(lake, name, shape):
    values = SCALARS[name][1]
    rule = {"unique": ["a"]}
    different = column(name, shape, values)
    repeated = column(name, shape, [*values, values[-1]])
    first, last = len(values), len(values) + 1
    if name == "null" and shape == "plain":
        assert only(problems(lake, different, rule)).startswith("t, row 1: column a is null")
        return
    assert only(problems(lake, different, rule)) == ""
    shown = json_column(repeated)[-1]
    assert only(problems(lake, repeated, rule)) == (
        f"t, row {last}: the key a={shown!r} is also in row {first}: remove one of them"
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_nulls_are_found(lake, name, shape):
    values = [*SCALARS[name][1]] * 2
    rule = {"not_null": ["a"]}
    missing = len(values) - 1
    if shape == "plain":
        array = column(name, shape, [*values[:-1], None])
    else:
        array = column(name, shape, values, [missing])
    row = 1 if name == "null" and shape == "plain" else missing + 1
    assert only(problems(lake, array, rule)) == f"t, row {row}: column a is null: give it a value"
    if row > 1:
        assert only(problems(lake, column(name, shape, values), rule)) == ""
    if shape != "plain":  # a null within a value is none of the column
        array = column(name, shape, [*values[:-1], None])
        assert only(problems(lake, array, rule)) == ""


def bounds_of(name, values):
    """Returns values as bounds of a rule."""
    shown = json_column(array_of(SCALARS[name][0], values))
    plain = [isinstance(value, int | float | str) for value in values]
    is_time = name.startswith(("date", "time"))
    return shown if is_time or not all(plain) else values


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SCALARS)
def test_ranges_are_of_exact_values(lake, name):
    values = sorted(value for value in SCALARS[name][1] if value is not None)
    array = column(name, "plain", [None, *values])
    if name == "null":
        assert only(problems(lake, array, {"ranges": {"a": {"min": 1}}})) == ""
        return
    if name.startswith(REFUSED):
        rules = [{"ranges": {"a": {"min": bound}}} for bound in (1, "a")]
        for bound, found in zip((1, "a"), problems(lake, array, *rules), strict=True):
            start = f"t: the range of column a: {bound!r} cannot be compared with values of "
            assert all(each.startswith(start) for each in found)
        return
    shown = json_column(array)
    rules, starts = [], []
    for at, bound in enumerate(bounds_of(name, values)):
        last = at + 1 == len(values)
        for end, place in (("max", None if last else at + 1), ("min", 0 if at else None)):
            rules.append({"ranges": {"a": {end: bound}}})
            outside = f"t, row {(place or 0) + 2}: column a is {shown[(place or 0) + 1]!r}, outside"
            starts.append("" if place is None else outside)
    for start, found in zip(starts, problems(lake, array, *rules), strict=True):
        assert all(each.startswith(start) and bool(each) == bool(start) for each in found)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "shape"), [each for each in CASES if each[1] != "plain"])
def test_ranges_of_nested_columns_are_refused_with_their_name(lake, name, shape):
    array = column(name, shape, SCALARS[name][1])
    (found,) = problems(lake, array, {"ranges": {"a": {"max": 1}, "b": {"max": 9}}})
    for each in found:
        assert each.startswith("t: the range of column a: 1 cannot be compared with values of ")
