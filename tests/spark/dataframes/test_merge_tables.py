"""Merges of tables by Spark, compared with the merge strategy `rows`."""

import io
import json
import math
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch.spark
from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

PAGE = Path(__file__).parents[3] / "docs" / "spark-tables.md"

pytestmark = pytest.mark.timeout(600)

NAN = float("nan")
VALUES = {
    "text": ["", "x", "ü", 'say "z"', None],
    "number": [0.0, -0.0, 1.5, NAN, None],
    "pair": [{"a": 1, "b": None}, {"a": None, "b": NAN}, {"a": 1, "b": 0.5}, None],
    "list": [[], [1, None], [1], None],
}
TYPES = {
    "text": pa.string(),
    "number": pa.float64(),
    "pair": pa.struct([("a", pa.int32()), ("b", pa.float64())]),
    "list": pa.list_(pa.int64()),
}
ALL = tuple(TYPES)


def table(rows, columns=ALL, types=TYPES):
    """Returns rows, which are values by (number, letter), as an Arrow table."""
    arrays = {
        "id": pa.array([number for number, _ in rows], pa.int64()),
        "letter": pa.array([letter for _, letter in rows], pa.string()),
    }
    for name in columns:
        arrays[name] = pa.array([row.get(name) for row in rows.values()], types[name])
    return pa.table(arrays)


def to_bytes(written):
    sink = io.BytesIO()
    pq.write_table(written, sink)
    return sink.getvalue()


def comparable(value):
    """Returns a value in a form in which NaN and the zeros are equal to themselves."""
    if isinstance(value, float) and (math.isnan(value) or value == 0):
        return "NaN" if math.isnan(value) else 0.0
    if isinstance(value, dict):
        return {name: comparable(each) for name, each in value.items()}
    return [comparable(each) for each in value] if isinstance(value, list) else value


def rows_of(merged):
    """Returns the rows of an Arrow table by key, and the names and types of its columns."""
    rows = {(row["id"], row["letter"]): comparable(row) for row in merged.to_pylist()}
    assert len(rows) == merged.num_rows
    return rows, merged.column_names, [str(each.type) for each in merged.schema]


class Merges:
    """Merges tables in Spark, read from folders of several files, and by the strategy."""

    def __init__(self, spark, folder):
        self.spark = spark
        self.folder = folder

    def by_spark(self, tables, **options):
        paths = []
        for name, given in zip(("base", "source", "destination"), tables, strict=True):
            folder = self.folder / f"{name}-{random.getrandbits(64)}"
            folder.mkdir()
            half = given.num_rows // 2
            pq.write_table(given.slice(0, half), folder / "part-0.parquet")
            pq.write_table(given.slice(half), folder / "part-1.parquet")
            paths.append(str(folder))
        return anabranch.spark.merge_tables(
            self.spark, *paths, **{"key": ["id", "letter"], **options}
        )

    def by_strategy(self, tables):
        strategy = rows_strategy({"key": ["id", "letter"]})
        base, source, destination = map(to_bytes, tables)
        return run_strategy(
            strategy, "t.parquet", base=base, source=source, destination=destination
        )

    def compare(self, tables):
        """Checks that both give the same conflicts, or the same rows, and returns the conflicts."""
        merge, run = self.by_spark(tables), self.by_strategy(tables)
        assert len(run.conflicts) < 1000
        expected = {
            (each.key["id"], each.key["letter"], each.column): [
                comparable(value) for value in (each.base, each.source, each.destination)
            ]
            for each in run.conflicts
        }
        conflicts = {}
        for row in merge.conflicts.collect():
            values = (row.base, row.source, row.destination)
            loaded = [comparable(None if each is None else json.loads(each)) for each in values]
            conflicts[row.key.id, row.key.letter, row.column] = loaded
        assert conflicts == expected
        if not conflicts:
            merged = pq.read_table(io.BytesIO(run.files["t.parquet"]))
            assert rows_of(merge.rows.toArrow()) == rows_of(merged)
        return conflicts


@pytest.fixture
def merges(spark, tmp_path):
    return Merges(spark, tmp_path)


def changed(rng, rows, columns=ALL):
    """Returns rows of which some are changed, removed or added."""
    result = {}
    for key, row in rows.items():
        choice = rng.random()
        if choice < 0.1:
            continue
        new = dict(row)
        if choice < 0.5:
            for name in rng.sample(columns, rng.randint(1, min(2, len(columns)))):
                new[name] = rng.choice(VALUES[name])
        result[key] = new
    for _ in range(len(rows) // 10):
        key = rng.randrange(10_000), rng.choice("abc")
        result.setdefault(key, {name: rng.choice(VALUES[name]) for name in ALL})
    return result


def random_rows(rng, count):
    keys = {(rng.randrange(10_000), rng.choice("abc")) for _ in range(count)}
    return {key: {name: rng.choice(VALUES[name]) for name in ALL} for key in sorted(keys)}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_random_tables_are_merged_as_by_the_strategy(merges, seed):
    """At first with conflicts, then without the rows that conflict."""
    rng = random.Random(seed)
    base = random_rows(rng, 600)
    sides = [base, changed(rng, base), changed(rng, base)]
    conflicts = merges.compare([table(rows) for rows in sides])
    assert len(conflicts) > 20
    wrong = {key[:2] for key in conflicts}
    left = [{key: row for key, row in rows.items() if key not in wrong} for rows in sides]
    assert merges.compare([table(rows) for rows in left]) == {}


@pytest.mark.slow
def test_tables_that_both_sides_added(merges):
    """The base is a table without rows, or none."""
    rng = random.Random(7)
    rows = random_rows(rng, 60)
    other = {(number + 20_000, letter): row for (number, letter), row in rows.items()}
    tables = [table(rows), table({**other, **dict(list(rows.items())[:30])})]
    source, destination = (merges.spark.createDataFrame(each) for each in tables)
    merge = anabranch.spark.merge_tables(
        merges.spark, None, source, destination, key=["id", "letter"]
    )
    assert merge.conflicts.isEmpty()
    empty = tables[0].slice(0, 0)
    assert merges.compare([empty, *tables]) == {}
    found = rows_of(merges.by_spark([empty, *tables]).rows.toArrow())
    assert rows_of(merge.rows.toArrow()) == found


@pytest.mark.parametrize(
    "columns",
    [
        (ALL, ("text", "number", "pair"), ALL),
        (ALL, ALL, ("pair", "text")),
        (ALL, ("list", "pair", "number", "text"), ALL),
        (("text", "number"), ("text", "pair", "number"), ("list", "text", "number")),
        (("text",), ("text", "number"), ("number", "text")),
        ((), (), ()),
    ],
)
@pytest.mark.slow  # a dropped column and widened ones are below
def test_dropped_added_and_reordered_columns(merges, columns):
    rng = random.Random(3)
    base = random_rows(rng, 60)
    kept = [name for name in ALL if all(name in each for each in columns)]
    sides = [base, changed(rng, base, kept), changed(rng, base, kept)] if kept else [base] * 3
    conflicts = merges.compare(
        [table(rows, names) for rows, names in zip(sides, columns, strict=True)]
    )
    wrong = {key[:2] for key in conflicts}
    left = [{key: row for key, row in rows.items() if key not in wrong} for rows in sides]
    assert (
        merges.compare([table(rows, names) for rows, names in zip(left, columns, strict=True)])
        == {}
    )


def test_value_of_a_column_that_the_other_side_dropped(merges):
    base = {(1, "a"): {"text": "x"}, (2, "a"): {"text": "y"}}
    theirs = {**base, (2, "a"): {"text": "z"}}
    tables = [table(base, ("text",)), table(theirs, ("text",)), table(base, ())]
    assert merges.compare(tables) == {(2, "a", "text"): ["y", "z", None]}


@pytest.mark.slow  # tests/versioning/strategies; types are those of random tables
def test_widened_columns(merges):
    narrow = {"text": pa.string(), "number": pa.int32(), "pair": pa.date32()}
    wide = {"text": pa.string(), "number": pa.float64(), "pair": pa.timestamp("us")}
    rows = {(1, "a"): {"text": "x", "number": 1}, (2, "a"): {"text": "y", "number": 2}}
    theirs = {**rows, (1, "a"): {"text": "x", "number": 1.5}}
    names = ("text", "number", "pair")
    ours = {**rows, (2, "a"): {"text": "z", "number": 2}}
    tables = [table(rows, names, narrow), table(theirs, names, wide), table(ours, names, narrow)]
    merge, run = merges.by_spark(tables), merges.by_strategy(tables)
    assert merge.conflicts.isEmpty()
    merged = pq.read_table(io.BytesIO(run.files["t.parquet"]))
    assert rows_of(merge.rows.toArrow())[0] == rows_of(merged)[0]
    assert [each for _, each in merge.rows.dtypes][2:] == ["string", "double", "timestamp_ntz"]


def test_clashing_types_are_named(merges):
    rows = {(1, "a"): {"text": None}}
    tables = [table(rows, ("text",))] * 2 + [table(rows, ("text",), {"text": pa.int64()})]
    with pytest.raises(Conflict, match="'text' has clashing types: string and bigint"):
        merges.by_spark(tables)
    with pytest.raises(Conflict, match="'text' has clashing types"):
        merges.by_strategy(tables)


def with_key(number, letter):
    return pa.table({"id": pa.array(number, pa.int64()), "letter": letter})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (with_key([1, 2, 2], ["a", "b", "b"]), "the source has the key id=2, letter=b more than"),
        (with_key([1, None], ["a", "b"]), r"the source has a row without a key \(id, letter\)"),
        (pa.table({"id": [1]}), "the source has no key column 'letter'"),
    ],
)
def test_unusable_keys_and_columns_are_named_as_by_the_strategy(merges, source, reason):
    good = with_key([1], ["a"])
    for merge in (merges.by_spark, merges.by_strategy):
        with pytest.raises(Conflict, match=reason):
            merge([good, source, good])


def test_columns_that_differ_in_case_are_named(spark):
    table = spark.createDataFrame([(1, 2)], "id int, ID int")
    with pytest.raises(Conflict, match="the source has the columns 'id' and 'ID'"):
        anabranch.spark.merge_tables(spark, None, table, table, key="id")


@pytest.mark.parametrize("key", ["", [], [""], 7, [7]])
def test_wrong_keys_are_refused(spark, key):
    empty = spark.range(0)
    with pytest.raises(Invalid) as caught:
        anabranch.spark.merge_tables(spark, None, empty, empty, key=key)
    assert caught.value.kind == "invalid_key"


@pytest.mark.slow
def test_names_with_special_characters_and_maps(spark):
    schema = "`a.b` int, `c``d` map<string,int>, `e f` struct<`g.h`: map<string,double>>"

    def frame(*rows):
        return spark.createDataFrame(list(rows), schema)

    base = frame((1, {"x": 1}, ({"y": NAN},)), (2, {}, ({},)), (3, None, None))
    source = frame((1, {"x": 2}, ({"y": NAN},)), (2, {}, ({},)), (3, None, None))
    destination = frame((1, {"x": 1}, ({"y": NAN},)), (2, {}, (None,)), (3, {"z": 0}, None))
    merge = anabranch.spark.merge_tables(spark, base, source, destination, key="a.b")
    assert merge.conflicts.isEmpty()
    rows = {row["a.b"]: (row["c`d"], row["e f"]) for row in merge.rows.collect()}
    assert {number: each[0] for number, each in rows.items()} == {1: {"x": 2}, 2: {}, 3: {"z": 0}}
    assert rows[2][1]["g.h"] is None
    conflict = anabranch.spark.merge_tables(
        spark,
        base,
        source,
        frame((1, {"x": 3}, ({"y": NAN},)), (2, {}, ({},)), (3, None, None)),
        key="a.b",
    ).conflicts.collect()
    assert [(row.key["a.b"], row.column, row.source) for row in conflict] == [(1, "c`d", '{"x":2}')]


def test_a_merge_with_conflicts_is_not_written(spark, tmp_path):
    base, source, destination = (
        spark.createDataFrame([(1, value), (2, "same")], "id int, name string")
        for value in ("a", "b", "c")
    )
    path = tmp_path / "merged"
    merge = anabranch.spark.merge_tables(spark, base, source, destination, key="id")
    with pytest.raises(Conflict, match="both sides changed the column 'name' of the row id=1"):
        merge.write(str(path))
    assert not path.exists()
    assert {row.name for row in merge.rows.collect()} == {"c", "same"}
    merge = anabranch.spark.merge_tables(spark, base, base, destination, key="id")
    merge.write(str(path))
    assert sorted(pq.read_table(path)["name"].to_pylist()) == ["c", "same"]


@pytest.mark.slow  # an example; its writes and its merge have tests of their own
def test_example_of_the_page_runs(spark, server, repository):
    *_, example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example.count("rides-of-the-city") == 3
    main, night = repository.branch("main"), repository.branch("night")

    def write(branch, *rows):
        frame = spark.createDataFrame(list(rows), "id int, name string, docks int")
        frame.write.mode("overwrite").parquet(f"s3a://{repository.id}/{branch.id}/stations")
        branch.commit("Stations")

    write(main, (1, "Oak", 10), (2, "Elm", 12))
    repository.tag("v1").create("main")
    night.create("main")
    write(night, (1, "Oak St", 10), (2, "Elm", 12), (3, "Ash", 8))
    write(main, (1, "Oak", 14), (2, "Elm", 12))
    source = anabranch.spark.Server(server.url, *server.auth)
    exec(  # noqa: S102  the example
        example.replace("rides-of-the-city", repository.id), {"spark": spark, "server": source}
    )
    merged = spark.read.parquet(f"s3a://{repository.id}/main/stations-merged")
    rows = [(1, "Oak St", 14), (2, "Elm", 12), (3, "Ash", 8)]
    assert sorted(map(tuple, merged.collect())) == rows
