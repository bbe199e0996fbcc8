"""Table functions wherever SQL may have a table, with DuckDB itself resolving the names."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from anabranch.pipelines.queries.functions.table_functions import (
    CallError,
    TableFunction,
    TableFunctions,
)


@pytest.fixture
def opened():
    return []


@pytest.fixture
def run(opened):
    """Runs statements with `echo(first, second [, third])`, whose row has its arguments."""

    def echo(*arguments):
        opened.append(arguments)
        names = ["first", "second", "third"]
        return pa.table({name: [text] for name, text in zip(names, arguments, strict=True)})

    function = TableFunction("echo", ("first", "second"), echo, optional=("third",))
    with duckdb.connect(config={"python_enable_replacements": False}) as connection:
        functions = TableFunctions(connection, [function])

        def execute(sql):
            cursor = None
            for statement in connection.extract_statements(sql):
                cursor = functions.execute(statement)
            return cursor.fetchall()

        yield execute


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("FROM echo('a', 'b')", [("a", "b", "")]),
        ("FROM echo('a', 'b', 'c')", [("a", "b", "c")]),
        ("FROM echo('a', 'b', third := 'c')", [("a", "b", "c")]),
        ("FROM ECHO('a', 'b')", [("a", "b", "")]),
        ("FROM \"echo\"('a', 'b')", [("a", "b", "")]),
        ("FROM main.echo('a', 'b')", [("a", "b", "")]),
        ("FROM memory.main.echo('a', 'b')", [("a", "b", "")]),
        ("FROM/* echo('x') */echo ( 'a' -- 'y'\n, 'b' )", [("a", "b", "")]),
        ("FROM echo('it''s', $$\"b\"$$)", [("it's", '"b"', "")]),
        ("FROM echo('a' || 'b', upper('c'))", [("ab", "C", "")]),
        ("FROM echo('Zürich', '東京 🌊')", [("Zürich", "東京 🌊", "")]),
        ("FROM echo('a:b', ')')", [("a:b", ")", "")]),
        ("FROM echo('', '')", [("", "", "")]),
        ("FROM echo(1, 2.50)", [("1", "2.50", "")]),
        ("SELECT e.first FROM echo('a', 'b') AS e WHERE e.second = 'b'", [("a",)]),
        ("SELECT x FROM echo('a', 'b') AS e(x, y, z)", [("a",)]),
        (
            "SELECT l.first, r.first FROM echo('a', 'k') l JOIN echo('b', 'k') r USING (second)",
            [("a", "b")],
        ),
        ("SELECT * FROM echo('a', 'b') UNION ALL FROM echo('a', 'b')", [("a", "b", "")] * 2),
        ("SELECT (SELECT second FROM echo('a', 'b'))", [("b",)]),
        ("SELECT 1 WHERE 'a' IN (SELECT first FROM echo('a', 'b'))", [(1,)]),
        ("SELECT 1 WHERE EXISTS (FROM echo('a', 'b') WHERE first = 'c')", []),
        ("WITH c AS MATERIALIZED (FROM echo('a', 'b')) SELECT c.first FROM c, c AS d", [("a",)]),
        ("WITH echo AS (SELECT 7 AS x) SELECT x FROM echo", [(7,)]),
        ("WITH echo AS (SELECT 7 AS x) SELECT x, first FROM echo, echo('a', 'b')", [(7, "a")]),
        (
            "SELECT t.x, e.first FROM (VALUES (1)) t(x), LATERAL (SELECT * FROM echo('a', 'b')) e",
            [(1, "a")],
        ),
        ("CREATE VIEW v AS FROM echo('a', 'b'); SELECT second FROM v", [("b",)]),
        ("CREATE TABLE t AS FROM echo('a', 'b'); SELECT second FROM t", [("b",)]),
        ("CREATE VIEW echo AS SELECT 9 AS x; SELECT x FROM echo", [(9,)]),
        ("CREATE MACRO mine(r) AS TABLE FROM echo(r, 'b'); SELECT first FROM mine('a')", [("a",)]),
        ("CREATE OR REPLACE MACRO echo(a, b) AS TABLE SELECT 5; FROM echo('a', 'b')", [(5,)]),
        ("SELECT first FROM query('FROM echo(''a'', ''b'')')", [("a",)]),
        ("SELECT 'echo(''a'', ''b'')' AS text", [("echo('a', 'b')",)]),
        ("CREATE MACRO echo(x) AS x + 1; SELECT echo(1), first FROM echo('a', 'b')", [(2, "a")]),
        ("PIVOT echo('a', 'b') ON second USING first(first) GROUP BY third", [("", "a")]),
        ("SELECT count(*) FROM (SUMMARIZE FROM echo('a', 'b'))", [(3,)]),
    ],
)
@pytest.mark.sample(6)
def test_a_function_stands_where_a_table_may_stand(run, sql, rows):
    assert run(sql) == rows


def test_a_relation_is_opened_once_for_each_call(run, opened):
    run(
        "SELECT * FROM echo('a', 'b') l, echo('a', 'b') r, echo('c', 'b', 'd'); FROM echo('a', 'b')"
    )
    assert sorted(opened) == [("a", "b", ""), ("c", "b", "d")]


def test_explain_opens_relations_and_shows_the_plan(run):
    assert "ARROW_SCAN" in run("EXPLAIN FROM echo('a', 'b')")[0][1]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM echo()",
        "FROM echo('a')",
        "FROM echo('a', 'b', 'c', 'd')",
        "FROM echo('a', third := 'b')",
        "FROM echo('a', 'b', fourth := 'b')",
        "FROM echo('a', NULL)",
        "FROM echo('a', (SELECT 'b'))",
        "FROM (VALUES ('b')) t(x), echo('a', t.x)",
        "FROM range(3) r, LATERAL echo('a', r.range)",
    ],
)
def test_a_wrong_call_says_how_the_function_is_called(run, opened, sql):
    with pytest.raises(CallError) as caught:
        run(sql)
    assert "echo()" in str(caught.value)
    assert "echo('first', 'second' [, third := ''])" in caught.value.hint
    assert opened == []


def test_other_errors_stay_those_of_the_database(run):
    for sql, message in (
        ("FROM missing", "Table with name missing does not exist"),
        ("FROM missing('a')", "Table Function with name missing does not exist"),
        ("SELECT nothing FROM echo('a', 'b')", '"nothing" not found'),
        ("SELECT echo('a', 'b')", "is a table function"),
        ('FROM "function:echo:zz"', "does not exist"),
        ('FROM "function:other:61"', "does not exist"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            run(sql)


def test_calls_that_differ_each_time_end(run):
    with pytest.raises(CallError, match="more than 100 different calls"):
        run("FROM echo('a', random())")


def test_bytes_that_are_no_text_are_refused(run, opened):
    with pytest.raises((CallError, duckdb.Error)):
        run('FROM "function:echo:FF:62:"')
    assert opened == []
