"""Checks of tables: each rule against tables that keep and break it, and tables that are broken."""

import datetime as dt
import decimal
import gzip
import io
import subprocess
import sys
import time

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow import feather, orc
from support.hooks.hook_runs import hook_context

from anabranch.actions.hooks.checks.check import check
from anabranch.actions.hooks.checks.table_rules import TableRule
from anabranch.actions.hooks.checks.tables.table_checks import table_checks
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed, Invalid


def run(lake, rule, **context):
    """Applies a rule in this process, where the reads can be seen."""
    given = {"reference": "dev", "base": "main", **context}
    table_checks(check({"tables": [rule]}).tables.properties).run(hook_context(lake, **given))


def fails(lake, rule, **context):
    with pytest.raises(HookFailed) as failed:
        run(lake, rule, **context)
    return failed.value.message


def parquet(columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def branch_anew(lake):
    lake.lake.branches.delete("flights", "dev")
    lake.lake.branches.create("flights", "dev", "main")


@pytest.mark.parametrize(
    ("name", "content", "row"),
    [
        ("1.parquet", parquet({"a": [1, None], "b": [1, 2]}), 2),
        ("1.parquet", parquet({"a": [*range(70_000), None], "b": [0] * 70_001}), 70_001),
        ("1.csv", b'a,b\n"",2\n,3\n', 2),
        ("1.csv", b'\xef\xbb\xbfa,b\r\n"x\r\ny",2\r\n,3\r\n', 2),
        ("1.tsv", b"a\tb\n\t1\n", 1),
        ("1.csv", b"a;b\n1,5;2\n;3\n", 2),
    ],
)
def test_nulls_are_refused_with_their_row(lake, name, content, row):
    lake.save("dev", {f"t/{name}": content})
    rule = {"path": "t/*", "not_null": ["a", "b"]}
    assert fails(lake, rule) == f"t/{name}, row {row}: column a is null: give it a value"


DAY = dt.date(2013, 5, 1)


NOON = dt.datetime.fromisoformat("2013-05-01T12:00:00")


LATER = dt.datetime.fromisoformat("2014-01-01T00:00:00")


@pytest.mark.parametrize(
    ("values", "bounds", "row"),
    [
        ([1, None, 5, 6], "{min: 1, max: 5}", 4),
        ([1, 0.5], "{min: 1}", 2),
        ([1.0, float("nan")], "{min: 0}", 2),
        ([1.0, float("inf")], "{max: 1.0e+300}", 2),
        (pa.array([1, 2**64 - 1], pa.uint64()), "{max: 18446744073709551614}", 2),
        (pa.array([1, 2**63 - 1]), "{max: 9223372036854775806}", 2),
        (pa.array([1, -128], pa.int8()), "{min: -127.5, max: 1000}", 2),
        ([decimal.Decimal("1.10"), decimal.Decimal("1.11")], "{max: 1.1}", 2),
        (["b", "a"], "{min: b}", 2),
        (pa.array(["b", "a"]).dictionary_encode(), "{min: b}", 2),
        ([DAY, dt.date(2014, 1, 1)], "{min: 2013-01-01, max: 2013-12-31}", 2),
        ([NOON, LATER], "{max: 2013-12-31}", 2),
        ([NOON, LATER], '{max: "2013-12-31T23:59:59Z"}', 2),
        (
            pa.array([NOON, LATER], pa.timestamp("us", tz="Europe/Berlin")),
            "{max: 2013-12-31T23:59:59}",
            2,
        ),
        ([dt.time(9), dt.time(18)], '{max: "17:00"}', 2),
        ([2.0**53 + 2, 2.0**53], "{min: 9007199254740993}", 2),
        (pa.array([1, 0], pa.timestamp("s")), '{min: "1970-01-01T00:00:00.5"}', 2),
        (pa.array([1, 2], pa.timestamp("ns")), '{max: "1970-01-01T00:00:00.000000001"}', 2),
        (pa.array([0], pa.timestamp("ns")), "{min: 9999-12-31}", 1),
        (pa.array([1], pa.int8()), "{min: 1000}", 1),
        ([DAY, dt.date(2013, 4, 30)], '{min: "2013-04-30T12:00"}', 2),
    ],
)
@pytest.mark.sample(3)
def test_values_outside_of_their_range_are_refused_with_their_row(lake, values, bounds, row):
    within = pa.array(values).slice(0, row - 1)
    rule = {"path": "t/*", "ranges": {"a": yaml.safe_load(bounds)}}
    lake.save("dev", {"t/1.parquet": parquet({"a": within})})
    run(lake, rule)
    lake.save("dev", {"t/1.parquet": parquet({"a": values})})
    reason = fails(lake, rule)
    assert reason.startswith(f"t/1.parquet, row {row}: column a is ")
    assert "outside of the range" in reason


@pytest.mark.parametrize(
    ("content", "bounds", "row"),
    [
        (b"a\n1\n007\n8\n", {"max": 7}, 3),
        (b'a\n1\n"two"\n', {"min": 1}, 2),
        (b"a\n1\n\n-1\n", {"min": 0}, 2),
        (b"a\n2013-05-01\n2012-12-31\n", {"min": "2013-01-01"}, 2),
        (b"a\n1\nnan\n", {"min": 0}, 2),
        (b"a\n9007199254740992\n9007199254740993\n", {"max": 9007199254740992}, 2),
        (b"a\n0.1\n 0.10000000000000000001\n", {"max": 0.1}, 2),
        (b"a\n1\n+1e9999999999999999999\n", {"max": 5}, 2),
        (b"a\n1\n1_000\n", {"min": 0}, 2),
    ],
)
@pytest.mark.sample(3)
def test_values_of_text_files_are_compared_as_numbers_if_the_bounds_are(lake, content, bounds, row):
    lake.save("dev", {"t.csv": content})
    rule = {"path": "t.csv", "ranges": {"a": bounds}}
    assert fails(lake, rule).startswith(f"t.csv, row {row}: column a is ")


@pytest.mark.parametrize(
    ("values", "bounds"),
    [([1], {"min": "a"}), ([True], {"min": 0}), ([[1]], {"min": 0}), ([DAY], {"min": "soon"})],
)
def test_bounds_of_another_type_are_a_problem(lake, values, bounds):
    lake.save("dev", {"t.parquet": parquet({"a": values})})
    reason = fails(lake, {"path": "t.parquet", "ranges": {"a": bounds}})
    assert reason.startswith("t.parquet: the range of column a: ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("1.parquet", parquet({"a": [1, 2, 1], "b": ["x", "y", "x"], "c": [1, 2, 3]})),
        ("1.csv", b"a,b,c\n1,x,1\n2,y,2\n1,x,3\n"),
    ],
)
def test_a_key_that_occurs_twice_is_refused_with_both_rows(lake, name, content):
    lake.save("dev", {f"t/{name}": content})
    reason = fails(lake, {"path": "t/*", "unique": ["a", "b"]})
    assert reason.startswith(f"t/{name}, row 3: the key a=")
    assert "is also in row 1: remove one of them" in reason
    run(lake, {"path": "t/*", "unique": ["a", "c"]})
    run(lake, {"path": "t/*", "unique": "c"})


def test_a_key_must_not_be_null(lake):
    lake.save("dev", {"t.parquet": parquet({"a": [1, None]})})
    assert fails(lake, {"path": "t.parquet", "unique": ["a"]}) == (
        "t.parquet, row 2: column a is null: give it a value"
    )


def test_files_can_be_one_table_together(lake):
    lake.save("main", {"t/1.csv": b"a,b\n1,x\n2,y\n", "t/2.csv": b"a,b\n3,z\n"})
    branch_anew(lake)
    lake.save("dev", {"t/3.csv": b"a,b\n4,u\n2,v\n"})
    alone = {"path": "t/*", "unique": ["a"], "rows": {"max": 4}}
    run(lake, alone)
    assert fails(lake, {**alone, "together": True}) == (
        "t/* (3 files) has 5 rows, more than 4: divide it; t/3.csv, row 2: the key a='2' is also "
        "in t/1.csv, row 2: remove one of them"
    )


def test_a_table_that_loses_its_files_has_too_few_rows(lake):
    lake.save("main", {"t/1.csv": b"a\n1\n"})
    branch_anew(lake)
    lake.lake.objects.delete("flights", "dev", "t/1.csv")
    rule = {"path": "t/*", "rows": {"min": 1}}
    run(lake, rule)
    assert fails(lake, {**rule, "together": True}).startswith("t/* (0 files) has 0 rows, fewer")


def test_files_of_different_types_are_no_table_together(lake):
    lake.save("dev", {"t/1.parquet": parquet({"a": [1]}), "t/2.parquet": parquet({"a": ["x"]})})
    reason = fails(lake, {"path": "t/*", "unique": ["a"], "together": True})
    assert "the columns of the key in t/2.parquet and t/1.parquet differ" in reason


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("1.parquet", parquet({"a": pa.array([], pa.int64())}), 0),
        ("1.parquet", parquet({"a": [1, 2, 3]}, row_group_size=1), 3),
        ("1.csv", b"a,b", 0),
        ("1.csv", b"a,b\n", 0),
        ("1.csv", b"a,b\n1,2", 1),
        ("1.csv", b'a,b\n"x\ny",2\n3,4\n', 2),
    ],
)
def test_rows_are_counted(lake, name, content, rows):
    lake.save("dev", {f"t/{name}": content})
    run(lake, {"path": "t/*", "rows": {"min": rows, "max": rows}})
    assert f"has {rows} rows, fewer than {rows + 1}" in (
        fails(lake, {"path": "t/*", "rows": {"min": rows + 1}})
    )


def test_only_changed_tables_and_named_columns_are_read(lake):
    wide = {f"c{number}": list(range(1000)) for number in range(200)}
    lake.save("main", {f"t/{number}.parquet": parquet(wide) for number in range(3)})
    branch_anew(lake)
    content = parquet({**wide, "c7": list(range(1, 1001))})
    lake.save("dev", {"t/1.parquet": content})
    run(lake, {"path": "t/*", "not_null": ["c7"], "rows": {"min": 1000}})
    assert {path for path, _, _ in lake.reads} == {"t/1.parquet"}
    assert sum(length for _, _, length in lake.reads) < len(content) / 2


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("1.parquet", b"", "it cannot be read as Parquet"),
        ("1.parquet", parquet({"a": [1]})[:-5], "it cannot be read as Parquet"),
        ("1.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1", "it cannot be read as Parquet"),
        ("1.parquet", b"a\n1\n", "it cannot be read as Parquet"),
        ("1.csv", b"", "it is empty"),
        ("1.csv", b"\xff\xff\n", "has no column a: add it"),
        ("1.csv", b"a,a\n1,2\n", "it has the column 'a' twice"),
        ("1.csv", b"a,b\n1,2\n3\n", "1 row has fewer cells than the first one"),
        ("1.csv", b"a,b\n1,2\n3,4,5\n", "1 row has more cells than the first one"),
        ("1.csv", "a\né\n".encode() + b"\xff\n", "1 line that is not UTF-8"),
        ("1.csv", b"a\n" + b"x" * (17 << 20) + b"\n", "it has a line of more than 16 MiB"),
        ("1.jsonl", b'{"a": 1', "it cannot be read as JSON lines"),
        ("1.txt", b"a\n1\n", "its name ends with none of .parquet, .pq, .parq, .csv, .tsv"),
        ("1.csv", b"b\n1\n", "has no column a: add it"),
    ],
)
@pytest.mark.sample(2)
def test_files_that_are_no_tables_are_a_problem(lake, name, content, reason):
    lake.save("dev", {f"t/{name}": content})
    assert reason in fails(lake, {"path": "t/*", "not_null": ["a"], "unique": ["a"]})


ORC, ARROW = io.BytesIO(), io.BytesIO()
orc.write_table(pa.table({"a": [1, 2, 1]}), ORC)
feather.write_feather(pa.table({"a": [1, 2, 1]}), ARROW)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.orc", ORC.getvalue()),
        ("t.feather", ARROW.getvalue()),
        ("t.parq", parquet({"a": [1, 2, 1]})),
        ("t.jsonl", b'{"a": 1}\n{"a": 2}\n{"a": 1}\n'),
        ("t.json", b'[{"a": 1}, {"a": 2}, {"a": 1}]'),
        ("t.psv", b"a|b\n1|1\n2|2\n1|3\n"),
        ("t.csv.gz", gzip.compress(b"a,b\n1,1\n2,2\n1,3\n")),
        ("t.csv", "a,b\né,1\nü,2\né,3\n".encode("latin-1")),
        ("t.csv", "a\tb\n1\t1\n2\t2\n1\t3\n".encode("utf-16")),
    ],
    ids=range(9),  # the bytes of some files depend on the time
)
def test_tables_of_every_format_are_checked(lake, name, content):
    lake.save("dev", {name: content})
    run(lake, {"path": name, "not_null": ["a"], "rows": {"min": 3, "max": 3}})
    assert "row 3: the key a=" in fails(lake, {"path": name, "unique": ["a"]})


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pa.array([1000, 1001], pa.timestamp("ns", "UTC")), "1970-01-01 00:00:00.000001001+00:00"),
        (pa.array([1000, 1001], pa.time64("ns")), "00:00:00.000001001"),
        (pa.array([1000, 1001], pa.duration("ns")), "PT0.000001001S"),
        (
            pa.array([decimal.Decimal(10**50), decimal.Decimal(10**50 + 1)], pa.decimal256(60, 0)),
            str(10**50 + 1),
        ),
    ],
)
def test_keys_that_differ_in_their_last_digit_are_two(lake, values, shown):
    lake.save("dev", {"t.parquet": parquet({"a": values})})
    run(lake, {"path": "t.parquet", "unique": ["a"]})
    lake.save("dev", {"t.parquet": parquet({"a": pa.concat_arrays([values, values[1:]])})})
    assert fails(lake, {"path": "t.parquet", "unique": ["a"]}).startswith(
        f"t.parquet, row 3: the key a={shown!r} is also in row 2"
    )


def test_a_format_can_be_given_for_names_that_do_not_tell(lake):
    lake.save("dev", {"t/part-0": b"a\tb\n1\t\n"})
    rule = {"path": "t/*", "not_null": ["b"], "format": "tsv"}
    assert fails(lake, rule).startswith("t/part-0, row 1: column b is null")


def test_damaged_pages_of_a_column_are_a_problem(lake):
    content = bytearray(parquet({"a": list(range(10_000))}, use_dictionary=False))
    content[100:5000] = b"\xff" * 4900
    lake.save("dev", {"t.parquet": bytes(content)})
    assert "cannot be read as Parquet" in fails(lake, {"path": "t.parquet", "not_null": ["a"]})


def test_the_hook_reads_tables_in_a_process_of_its_own(lake):
    lake.save("dev", {"t.parquet": parquet({"a": [1, 1]})})
    hook = make_hook("check", {"tables": [{"path": "*.parquet", "unique": "a"}]})
    context = hook_context(lake, reference="dev", base="main")
    with pytest.raises(HookFailed, match=r"row 2: the key a=1 is also in row 1"):
        hook.run(context)
    assert "row 2" in context.output.text()
    lake.save("dev", {"t.parquet": parquet({"a": [1, 2]})})
    hook.run(context)


def test_a_check_ends_after_its_timeout(lake):
    lake.save("dev", {"t.csv": b"a\n" + b"1\n" * 100})
    hook = make_hook("check", {"tables": [{"path": "t.csv", "rows": {"min": 1}}], "timeout": 0.01})
    start = time.monotonic()
    with pytest.raises(HookFailed, match="did not finish within"):
        hook.run(hook_context(lake, reference="dev", base="main"))
    assert time.monotonic() - start < 30


SCARCE = """
import os
import pyarrow as pa, pyarrow.compute as pc
from anabranch.actions.hooks.checks.tables import unique_keys

unique_keys._MEMORY = "24MB"
readings = []

def batches(*more):
    readings.append(more)
    for start in range(0, 300_000, 50_000):
        numbers = pc.cast(pa.array(range(start, start + 50_000)), pa.string())
        yield start // 150_000, pa.record_batch([pc.utf8_lpad(numbers, 61, "k")], ["key"])
    for key in more:
        yield 2, pa.record_batch([[key.rjust(61, "k")]], ["key"])

print(unique_keys.first_repeated(["key"], lambda: batches("new")), len(readings) > 4)
repeated = unique_keys.first_repeated(["key"], lambda: batches("new", "200000", "123456"))
print(repeated.key[0].strip("k"), repeated.first, repeated.last, flush=True)
os._exit(0)  # a thread of DuckDB may still have an iterator of Python's
"""


@pytest.mark.slow
def test_keys_that_do_not_fit_in_memory_are_compared_in_parts():
    """300,000 keys of 61 characters are more than DuckDB may hold there."""
    command = [sys.executable, "-c", SCARCE]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["None True", "123456 (0, 123456) (2, 2)"]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"not_null": ["a"]}, "property tables[0].path: must be text"),
        ({"path": "t"}, "property tables[0]: a rule for tables needs"),
        ({"path": "t", "together": True}, "property tables[0]: a rule for tables needs"),
        ({"path": "t", "schema": "same"}, "property tables[0].schema: must be"),
        ({"path": "t", "schema": {"file": ""}}, "property tables[0].schema: must be"),
        ({"path": "t", "rows": 5}, "property tables[0].rows: must have min, max"),
        ({"path": "t", "rows": {"min": 1.5}}, "property tables[0].rows: min and max"),
        ({"path": "t", "rows": {"min": -1}}, "property tables[0].rows: min and max"),
        ({"path": "t", "ranges": {"a": {}}}, "property tables[0].ranges.a: must have"),
        ({"path": "t", "ranges": {"a": {"low": 1}}}, "property tables[0].ranges.a: must have"),
        ({"path": "t", "ranges": {"a": {"min": True}}}, "property tables[0].ranges.a: min"),
        ({"path": "t", "ranges": {"a": {"min": 2, "max": 1}}}, "property tables[0].ranges.a: no"),
        ({"path": "t", "ranges": {"a": {"min": 2, "max": "b"}}}, "property tables[0].ranges.a: "),
        ({"path": "t", "unique": [], "format": "xls"}, "property tables[0].format: must be"),
        ({"path": "t", "not_nul": ["a"]}, "property tables[0].not_nul: is unknown"),
    ],
)
def test_wrong_rules_are_named(rule, reason):
    with pytest.raises(Invalid) as refused:
        make_hook("check", {"tables": [rule]})
    assert refused.value.message.startswith(reason)
    assert refused.value.kind == "invalid_hook"


def test_rules_survive_the_way_to_the_process():
    rule = {"path": "t", "ranges": {"a": {"min": DAY}, "b": {"max": 1.5}}, "unique": "c"}
    sent = msgspec.json.encode(check({"tables": [rule]}).tables.properties)
    (received,) = msgspec.json.decode(sent)["rules"]
    assert msgspec.convert(received, TableRule).ranges["a"].min == "2013-05-01"
