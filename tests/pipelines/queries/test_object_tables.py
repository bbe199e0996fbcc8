"""Files that SQL names by addresses have the rows that they have in `tables`, or are refused."""

import pyarrow as pa
import pytest
from pipelines.queries.conftest import avro_bytes, table, written
from pyarrow import parquet as pq

from anabranch.errors import Invalid

ROOT = "lakefs://sea/main"
FILES = {
    "ragged.csv": b"a,b\n1,2\n3\n4,5,6\n",
    "latin.csv": "name;town\nJosé;Köln\n".encode("latin-1"),
    "wide.tsv": "a\tb\n1\tü\n".encode("utf-16"),
    "long.csv": b"id,code\n12345678901234567890,007\n",
    "long.jsonl": b'{"id": 12345678901234567890, "x": 0.1000000000000000055}\n{"y": [1, "a"]}\n',
    "document.json": b'[{"a": 1, "a": 2}, {"b": 1e400}]',
    "lines.json": b'{"a": 1}\n{"a": "x"}\n',
    "a=1/own.csv": b"a,c\n7,8\n",
    "joined/1.csv": b"a\n1\n",
    "joined/2.csv": b"a,b\nx,2\n",
    "quo'ted ä.csv": b"x\n7\n",
}
NANOSECONDS = pa.table({"t": pa.array([1], pa.timestamp("ns", "UTC")), "a": [1]})


@pytest.fixture(scope="module", autouse=True)
def uploaded(lake):
    nanoseconds = written(lambda stream: pq.write_table(NANOSECONDS, stream))
    stored = {
        **FILES,
        "nanoseconds.parquet": nanoseconds,
        "a=1/own.parquet": nanoseconds,
        "000000_0": b"a|b\n1|2\n",
        "unnamed": avro_bytes(table().slice(0, 3)),
    }
    for path, content in stored.items():
        lake.objects.upload("sea", "main", f"at/{path}", [content])


PATHS = [
    *(f"at/{path}" for path in FILES),
    *("at/nanoseconds.parquet", "at/a=1/own.parquet", "at/joined/*.csv", "gauges.parquet"),
]
FUNCTIONS = {"tsv": "read_csv", "jsonl": "read_ndjson"}


def spellings(path):
    address = f"{ROOT}/{path}".replace("'", "''")
    nested = address.replace("'", "''")
    extension = path.rpartition(".")[2]
    function = FUNCTIONS.get(extension, f"read_{extension}")
    yield f"FROM '{address}'"
    yield f"FROM {function}('{address}')"
    yield f"FROM {function}(['{address}'])"
    yield f"FROM {function}(address := '{address}')"
    yield f"FROM read_table('{address}')"
    yield f"FROM query($$FROM '{address}'$$)"
    yield f"FROM query('FROM ''{nested}'' ')"
    yield f"FROM query_table('{address}')"
    yield f"CREATE VIEW v AS FROM '{address}'; FROM v"
    yield f"CREATE TABLE t AS FROM {function}('{address}'); FROM t"
    yield f"WITH w AS (SELECT * FROM '{address}') FROM w"
    yield f"SELECT t.* FROM '{address}' t, (SELECT 1)"


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_each_spelling_has_the_rows_of_tables(query, path):
    expected = query("FROM t", tables={"t": path})
    for sql in spellings(path):
        result = query(sql)
        assert result["rows"] == expected["rows"], sql
        assert result["columns"] == expected["columns"], sql
        assert result["notes"] == expected["notes"], sql


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM read_orc('{}/gauges.orc')", [[300]]),
        ("SELECT count(*) FROM read_arrow('{}/gauges.feather')", [[300]]),
        ("SELECT count(*) FROM read_avro('{}/gauges.avro')", [[300]]),
        ("SELECT count(*) FROM read_table('{}/at/unnamed')", [[3]]),
        ("FROM read_table('{}/at/000000_0', format := 'psv')", [[1, 2]]),
        ("FROM read_csv(['{0}/at/joined/1.csv', '{0}/at/joined/2.csv'])", [["1", None], ["x", 2]]),
    ],
)
@pytest.mark.sample(1)
def test_functions_read_what_has_no_extension_of_duckdb(query, sql, rows):
    assert query(sql.format(ROOT))["rows"] == rows


def test_paths_that_differ_in_case_are_different_files(lake, query):
    for name in ("A.csv", "a.csv"):
        lake.objects.upload("sea", "main", f"at/case/{name}", [f"x\n{name}\n".encode()])
    names = ("A.csv", "a.csv", "A.csv")
    sql = " UNION ALL ".join(f"SELECT x FROM '{ROOT}/at/case/{name}'" for name in names)
    assert query(sql)["rows"] == [[name] for name in names]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("sql", "reason", "hint"),
    [
        ("FROM read_csv('{}/at/latin.csv', delim = ';')", "wrong arguments", "dialect"),
        ("FROM read_csv('{}/at/latin.csv', header = false)", "wrong arguments", "dialect"),
        ("FROM read_parquet('{}/gauges.parquet', filename = true)", "wrong arguments", "read_par"),
        ("FROM read_csv('{}/at/joined/*.csv', union_by_name = true)", "wrong arguments", "joins"),
        ("FROM read_csv('{}/at/a=1/*.csv', hive_partitioning := false)", "wrong arg", "folders"),
        ("FROM system.main.read_csv('{}/at/ragged.csv')", "other values", "read_table"),
        ("FROM system.main.read_parquet('{}/gauges.parquet')", "other values", "read_table"),
        ("FROM sniff_csv('{}/at/ragged.csv')", "other values", "read_table"),
        ("FROM read_json_objects('{}/at/long.jsonl')", "other values", "read_table"),
        ("FROM read_ndjson_objects('{}/at/long.jsonl')", "other values", "read_table"),
        ("FROM system.main.read_text('{}/at/long.jsonl')", "other values", "read_table"),
        ("FROM '{}/gauges.avro'", "no extension", "read_table"),
        ("FROM '{}/gauges.orc'", "no extension", "read_table"),
        ("FROM '{}/at/000000_0'", "no extension", "format"),
        ("FROM read_table('{}/at/000000_0')", "is no table", "format"),
        ("FROM '{}/at/'", "no extension", "Write FROM delta_table"),
        ("FROM read_table('{}/at/000000_0', format := 'xls')", "no format", "formats are"),
        ("FROM read_table('{}/at/000000_0', format = 'psv')", "no format", "format := 'csv'"),
        ("FROM read_table('{}/gauges.*')", "files of one format", "pattern"),
        ("FROM read_csv('gauges.csv')", "no address", "lakefs://"),
        ("FROM 'gauges.csv'", "no address", "lakefs://"),
        ("FROM read_csv(5)", "no text", "lakefs://"),
        ("FROM read_csv([])", "no addresses", "lakefs://"),
        ("FROM read_csv((SELECT '{}/at/ragged.csv'))", "must be constants", "read_csv"),
        ("FROM read_parquet('{}/at/none.parquet')", "No files found", ""),
    ],
)
def test_other_spellings_are_refused_with_a_hint(query, sql, reason, hint):
    with pytest.raises(Invalid) as caught:
        query(sql.format(ROOT))
    assert reason in caught.value.message
    assert hint in (caught.value.hint or "")


def test_functions_of_content_show_addresses(query):
    address = f"{ROOT}/at/long.csv"
    content = FILES["long.csv"].decode()
    sql = f"SELECT filename, content FROM read_text('{address}')"
    assert query(sql)["rows"] == [[address, content]]
    sql = f"SELECT filename, decode(content) FROM read_blob('{address}')"
    assert query(sql)["rows"] == [[address, content]]
    joined = query(f"SELECT file FROM glob('{ROOT}/at/joined/*')")["rows"]
    assert joined == [[f"{ROOT}/at/joined/{number}.csv"] for number in (1, 2)]
    parquet = f"{ROOT}/gauges.parquet"
    for function in ("parquet_metadata", "parquet_schema", "parquet_file_metadata"):
        assert query(f"SELECT DISTINCT file_name FROM {function}('{parquet}')")["rows"] == [
            [parquet]
        ]


def test_parquet_files_whose_types_differ_lose_no_digit(lake, query):
    for number, array in enumerate((pa.array([2**53 + 1]), pa.array([0.5]))):
        content = written(lambda stream, one=array: pq.write_table(pa.table({"v": one}), stream))
        lake.objects.upload("sea", "main", f"at/types/{number}.parquet", [content])
    result = query(f"FROM '{ROOT}/at/types/*.parquet'")
    assert result["rows"] == [[str(2**53 + 1)], ["0.5"]]
    assert result["notes"][0].startswith("Column v is text")
