"""Conditions on maps that are read from DuckDB's plans."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from anabranch.pipelines.queries.functions.conditions import Condition
from anabranch.pipelines.queries.functions.plan_conditions import conditions_in_plan
from anabranch.pipelines.queries.functions.relations import Relation
from anabranch.pipelines.queries.functions.table_functions import TableFunction, TableFunctions

SCHEMA = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("metadata", pa.map_(pa.string(), pa.string()))]
)
ROWS = [
    {"path": "a", "size": 1, "metadata": [("k", "v")]},
    {"path": "b", "size": 2, "metadata": [("k", "it's"), ("x y", "a AND (b")]},
    {"path": "c", "size": 3, "metadata": []},
]


@pytest.fixture
def scans():
    return []


@pytest.fixture
def run(scans):
    def read(columns, conditions):
        scans.append([tuple(each) for each in conditions])
        return pa.Table.from_pylist(ROWS, SCHEMA).select(columns).to_batches()

    with duckdb.connect() as connection:
        function = TableFunction("things", ("name",), lambda _: Relation(SCHEMA, read))
        functions = TableFunctions(connection, [function])

        def execute(sql):
            for statement in connection.extract_statements(sql):
                cursor = functions.execute(statement)
            return [path for (path,) in cursor.fetchall()]

        yield execute


def held(key, *values, by="in"):
    return ("metadata", by, values, key)


@pytest.mark.parametrize(
    ("where", "paths", "conditions"),
    [
        ("metadata['k'] = 'v'", "a", [held("k", "v")]),
        ("'v' = metadata['k']", "a", [held("k", "v")]),
        ("t.metadata['k'] = 'v'", "a", [held("k", "v")]),
        ("metadata['k'] = 'it''s'", "b", [held("k", "it's")]),
        (
            "metadata['k'] = 'it''s' AND metadata['x y'] = 'a AND (b' AND length(path) = 1",
            "b",
            [held("k", "it's"), held("x y", "a AND (b")],
        ),
        ("metadata['k'] = 'v' AND size < 9", "a", [("size", "<", 9, ""), held("k", "v")]),
        ("metadata['k'] = 'v' OR metadata['k'] = 'it''s'", "ab", [held("k", "v", "it's")]),
        ("metadata['k'] IN ('v', 'it''s', 'w')", "ab", [held("k", "v", "it's", "w")]),
        ("metadata['k'] = 'v' OR metadata['x y'] = 'a AND (b'", "ab", []),
        ("metadata['k'] = 'v' OR size = 2", "ab", []),
        (
            "metadata['k'] IN ('v', 'it''s') AND metadata['x y'] IS NOT NULL",
            "b",
            [held("x y", by="exists"), held("k", "v", "it's")],
        ),
        ("metadata['k'] LIKE 'it''%'", "b", [held("k", "it'", by="prefix")]),
        ("metadata['k'] LIKE '%''s'", "b", [held("k", "'s", by="suffix")]),
        ("metadata['x y'] LIKE '% AND (%'", "b", [held("x y", " AND (", by="contains")]),
        ("metadata['x y'] LIKE '% OR (%' OR metadata['k'] LIKE 'v%'", "a", []),
        ("metadata['k'] NOT LIKE 'v%'", "b", []),
        ("metadata['k'] LIKE 'i%s'", "b", []),
        ("metadata['k'] ILIKE 'V'", "a", []),
        ("NOT metadata['k'] = 'v'", "b", []),
        ("metadata['k'] IS NULL", "c", []),
        ("coalesce(metadata['k'] = 'v', true)", "ac", []),
        ("metadata['k'] = lower('V')", "a", [held("k", "v")]),
        ("metadata[path] = 'v'", "", []),
        ("metadata['k'] <> 'v'", "b", []),
    ],
)
@pytest.mark.sample(8)
def test_equal_values_of_maps_reach_the_source(run, scans, where, paths, conditions):
    assert run(f"SELECT path FROM things('x') t WHERE {where}") == list(paths)
    assert scans == [conditions]


ONE, OTHER = "things('x') l", "things('x') r"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT l.path FROM {ONE}, {OTHER} WHERE l.EQUAL AND r.size = 3",
        f"SELECT path FROM {ONE} WHERE EQUAL UNION SELECT path FROM {OTHER} WHERE size = 9",
        f"SELECT path FROM (FROM {ONE} LIMIT 2) WHERE EQUAL",
        f"SELECT path FROM {ONE} WHERE size = (SELECT min(size) FROM {OTHER} WHERE EQUAL)",
    ],
)
def test_conditions_of_other_scans_are_not_taken(run, scans, sql):
    assert run(sql.replace("EQUAL", "metadata['k'] = 'v'")) == ["a"]
    assert all(condition[0] != "metadata" for scan in scans for condition in scan)


def test_conditions_end_with_their_statement(run, scans):
    run("SELECT path FROM things('x') WHERE metadata['k'] = 'v'; SELECT path FROM things('x')")
    assert scans == [[held("k", "v")], []]


SCAN = '{"name": "ARROW_SCAN"}'
FILTER = f'{{"name": "FILTER", "children": [{SCAN}]}}'


@pytest.mark.parametrize("plan", ["[]", f"[{SCAN}]", f"[{FILTER}]", f"[{SCAN}, {SCAN}]"])
def test_unknown_plans_have_no_conditions(plan):
    assert conditions_in_plan(plan) == []


def test_a_filter_on_the_only_scan_has_conditions():
    expression = "(map_extract_value(m, 'k') = 'v')"
    info = f'"extra_info": {{"Expression": "{expression}"}}'
    plan = f'[{{"name": "FILTER", {info}, "children": [{SCAN}]}}]'
    assert conditions_in_plan(plan) == [Condition("m", "in", ("v",), "k")]
