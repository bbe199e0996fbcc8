"""Files of Iceberg tables are left out only where no row of theirs is in the answer."""

import datetime as dt
import itertools
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from support.formats.folder_objects import FolderObjects
from support.formats.iceberg_tables import FolderCatalog

from anabranch.pipelines.queries.functions.lake_relations import _CHANGING
from anabranch.pipelines.queries.functions.table_functions import TableFunction, TableFunctions
from anabranch.tables.iceberg.snapshot import IcebergSnapshot
from anabranch.tables.lake_table import DeltaLakeTable
from anabranch.tables.live_rows.addresses import TablePlace
from anabranch.tables.live_rows.needs import EVERYTHING
from anabranch.tables.live_rows.relation import create_relation

PLACE = TablePlace("sea", "t/")
LONG = "a long text that bounds cut off, because it has more than sixteen letters"
NAN = float("nan")
ZONE = dt.UTC
VALUES = {
    "long": (LongType(), [-(2**63), -1, 0, 7, 2**53 + 1, 2**63 - 1]),
    "small": (IntegerType(), [-(2**31), -5, 0, 3, 9, 2**31 - 1]),
    "flag": (BooleanType(), [False, False, False, True, True, True]),
    "ratio": (FloatType(), [-1.5, -0.0, 0.1, 0.2, NAN, 3e38]),
    "level": (DoubleType(), [-1e300, 0.0, 0.1, NAN, 7.5, 1e300]),
    "day": (DateType(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), *[dt.date(2024, 1, 1)] * 4]),
    "local": (
        TimestampType(),
        [dt.datetime(1900 + 30 * n, 1, 1, 1, 2, 3, n) for n in range(6)],  # noqa: DTZ001
    ),
    "instant": (
        TimestamptzType(),
        [dt.datetime(1950 + 20 * n, 1, 1, tzinfo=ZONE) for n in range(6)],
    ),
    "price": (DecimalType(10, 2), [Decimal(n) / 4 for n in (-9, -1, 0, 6, 10, 399_999_996)]),
    "wide": (DecimalType(38, 5), [Decimal(n) * 10**20 for n in (-9, -1, 0, 6, 10, 99)]),
    "text": (StringType(), ["", "a", "it's", LONG + "a", LONG + "b", "ü\U0001f600"]),
    "hour": (TimeType(), [dt.time(n, 30) for n in range(6)]),
    "raw": (BinaryType(), [b"", b"\x00", b"a", b"b", b"\xff", b"\xff\xff"]),
    "key": (UUIDType(), [bytes([n] * 16) for n in (0, 1, 2, 3, 128, 255)]),
}
SCHEMA = Schema(
    *(NestedField(number, name, kind) for number, (name, (kind, _)) in enumerate(VALUES.items(), 1))
)
OPERATORS = ["=", "<", "<=", ">", ">="]


class Tables:
    """Statements over the table in a folder."""

    def __init__(self, folder, kind=IcebergSnapshot):
        self.objects = FolderObjects(folder)
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        whole = kind(self.objects, PLACE, None).rows(EVERYTHING)
        create_relation(self.connection, "whole", whole, self.objects)
        opened = kind(self.objects, PLACE, None)  # it has read no manifest
        function = TableFunction("iceberg_table", ("address",), lambda _: opened)
        self.functions = TableFunctions(self.connection, [function])

    def read(self, sql):
        """Returns the rows of a statement, and how many data files were read for them."""
        self.objects.opened.clear()
        self.functions._lake_tables._made.clear()
        (statement,) = self.connection.extract_statements(sql.replace("TABLE", "iceberg_table('')"))
        rows = self.functions.execute(statement).fetchall()
        return rows, len({path for path in self.objects.opened if path.endswith(".parquet")})

    def same(self, sql):
        """Checks the rows of a statement against those over all files; returns the number of data
        files that were read.
        """
        rows, files = self.read(sql)
        expected = self.connection.execute(sql.replace("TABLE", "whole")).fetchall()
        assert sorted(map(repr, rows)) == sorted(map(repr, expected)), sql
        return files


def create(tmp_path, batches, spec=UNPARTITIONED_PARTITION_SPEC, schema=SCHEMA):
    folder = tmp_path / "t"
    folder.mkdir()
    catalog = FolderCatalog(folder)
    catalog.create(schema, spec)
    for rows in batches:
        table = catalog.load()
        table.append(pa.Table.from_pylist(rows, table.schema().as_arrow()))
    return catalog


def halves():
    """Yields the rows of two files: the lower values, and the upper ones with nulls."""
    for part in (range(3), range(3, 6)):
        rows = [{name: values[n] for name, (_, values) in VALUES.items()} for n in part]
        yield [*rows, {"long": 8}] if part[0] else rows
    yield [{"long": 5}]  # all other columns are null


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    create(folder, halves())
    return Tables(folder)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", VALUES)
def test_each_comparison_has_the_rows_that_it_has_over_all_files(typed, name):
    read = []
    texts = [
        row[0]
        for row in typed.connection.sql(
            f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM whole WHERE {name} IS NOT NULL"
        ).fetchall()
    ]
    kind = typed.connection.sql(f"SELECT typeof({name}) FROM whole LIMIT 1").fetchone()[0]
    for text, operator in itertools.product(texts, OPERATORS):
        escaped = text.replace("'", "''")
        condition = f"{name} {operator} CAST('{escaped}' AS {kind})"
        read.append(typed.same(f"SELECT {name} FROM TABLE WHERE {condition}"))
    typed.same(f"SELECT long FROM TABLE WHERE {name} IS NULL")
    typed.same(f"SELECT long FROM TABLE WHERE {name} IS NOT NULL")
    typed.same(f"SELECT long FROM TABLE WHERE {name} <> (SELECT min({name}) FROM whole)")
    assert min(read) < 3


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("long > 7 AND small > 3", 1),
        ("long = 5", 1),
        ("long IN (5, 6)", 1),
        ("long = 5 OR long = -1", 2),
        ("long = 5 OR small = 9", 3),
        ("text LIKE 'b%'", 2),
        ("text = 'x'' AND long=5'", 1),
        ("text = chr(10) || 'long=5'", 3),
        ("NOT long > 4", 1),
        ("long + 1 = 6", 1),
        ("CAST(local AS DATE) = '1960-01-01'", 1),
        ("instant < now() - INTERVAL 1 HOUR", 3),
        ("long < (SELECT 0)", 3),
    ],
)
@pytest.mark.sample(4)
def test_conditions_are_read_from_the_plan(typed, condition, files):
    assert typed.same(f"SELECT long FROM TABLE WHERE {condition}") == files
    typed.functions._lake_tables._is_changing = False


def test_counts_and_several_scans(typed):
    assert typed.read("SELECT count(*) FROM TABLE") == ([(8,)], 0)
    assert typed.same("SELECT count(day) FROM TABLE") == 3
    assert typed.same("SELECT a.long, b.small FROM TABLE a JOIN TABLE b USING (long)") == 3
    both = "SELECT a.long, b.long FROM TABLE a, TABLE b WHERE a.long = 5 AND b.long = -1"
    assert typed.same(both) == 2
    assert typed.same("SELECT long FROM TABLE WHERE long = 5 UNION ALL SELECT 1") == 1
    assert typed.same("WITH t AS (SELECT * FROM TABLE) SELECT long FROM t WHERE long = 5") == 1
    assert typed.same("SELECT long FROM TABLE WHERE long = 5 OR true") == 3


def test_views_of_statements_before_it_are_read_as_they_need_it(typed):
    typed.functions.execute(
        typed.connection.extract_statements("CREATE VIEW v AS SELECT * FROM iceberg_table('')")[0]
    )
    rows, files = typed.read("SELECT long FROM v WHERE long = 5")
    assert (rows, files) == ([(5,)], 1)
    typed.connection.execute("DROP VIEW v")


def test_functions_of_the_moment_are_known(typed):
    names = typed.connection.sql(
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE stability = 'CONSISTENT_WITHIN_QUERY'"
    ).fetchall()
    assert names
    assert all(_CHANGING.search(f"SELECT {name}()") for (name,) in names)
    assert not _CHANGING.search("SELECT * FROM t WHERE time > TIMESTAMP '2024-01-01'")


def test_manifests_are_left_out_by_their_partitions(tmp_path):
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "long"))
    create(tmp_path, [[{"long": n, "small": n}] for n in (1, 2, 3)], spec)
    tables = Tables(tmp_path)
    assert tables.same("SELECT small FROM TABLE WHERE long >= 2") == 2
    manifests = [path for path in tables.objects.opened if path.endswith("-m0.avro")]
    assert len(set(manifests)) == 2
    assert not [path for path in tables.objects.opened if path.endswith("metadata.json")]
    assert tables.read("SELECT count(*) FROM TABLE") == ([(3,)], 0)


def test_widened_renamed_and_added_columns(tmp_path):
    schema = Schema(
        NestedField(1, "n", IntegerType()),
        NestedField(2, "f", FloatType()),
        NestedField(3, "d", DecimalType(4, 1)),
        NestedField(4, "old", LongType()),
    )
    first = [{"n": 5, "f": 0.1, "d": Decimal("1.5"), "old": 7}]
    catalog = create(tmp_path, [first], schema=schema)
    with catalog.load().update_schema() as update:
        update.update_column("n", LongType())
        update.update_column("f", DoubleType())
        update.update_column("d", DecimalType(9, 1))
        update.rename_column("old", "new")
    with catalog.load().update_schema() as update:
        update.add_column("old", LongType())
    table = catalog.load()
    rows = [{"n": 2**40, "f": 0.1, "d": Decimal("99999.5"), "new": 8, "old": 7}]
    table.append(pa.Table.from_pylist(rows, table.schema().as_arrow()))
    tables = Tables(tmp_path)
    expected = {
        "n = 5": 1,
        "n > 5": 1,
        "f = 0.1": 1,
        "f < 0.2": 2,
        "f = CAST(CAST(0.1 AS FLOAT) AS DOUBLE)": 1,
        "d >= 2": 2,  # a plan does not name a small decimal beside other columns
        "new = 7": 1,
        "old = 7": 2,  # the first file does not say that it lacks the column
    }
    for condition, files in expected.items():
        assert tables.same(f"SELECT * FROM TABLE WHERE {condition}") == files, condition


def test_deleted_rows_are_not_counted(tmp_path):
    catalog = create(tmp_path, [[{"long": n, "text": "x"} for n in range(4)]])
    catalog.load().delete(EqualTo("long", 2))
    tables = Tables(tmp_path)
    assert tables.read("SELECT count(*) FROM TABLE")[0] == [(3,)]
    assert tables.same("SELECT long FROM TABLE WHERE long >= 2") == 1


@pytest.mark.slow
def test_texts_with_line_breaks_which_plans_cut_are_found(tmp_path):
    texts = ["x\ny", "x\n\ny", "\n", "\n\n", "x\0y", "x", "x'\n' AND lake0c1='y", "z\rz"]
    create(tmp_path, [[{"text": text}] for text in texts])
    tables = Tables(tmp_path)
    for text, operator in itertools.product(texts, ("=", ">=", "<=")):
        codes = " || ".join(f"chr({ord(char)})" for char in text)
        tables.same(f"SELECT text FROM TABLE WHERE text {operator} {codes} AND text < 'zz'")


PARTITIONS = {
    "n": [-1, 0, None, 10],
    "text": ["", "a'b", None, "ü"],
    "day": [dt.date(1969, 12, 31), dt.date(2024, 1, 1), None, dt.date(2024, 1, 2)],
    "flag": [True, False, None, True],
    "local": [dt.datetime(2024, 1, n) if n else None for n in (1, 2, 0, 3)],  # noqa: DTZ001
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PARTITIONS)
def test_files_of_delta_tables_are_left_out_by_their_partitions(tmp_path, name):
    values = PARTITIONS[name]
    rows = pa.table({"id": range(4), name: values})
    write_deltalake(tmp_path / "t", rows, partition_by=[name])
    tables = Tables(tmp_path, DeltaLakeTable)
    read = []
    for value, operator in itertools.product([v for v in values if v is not None], OPERATORS):
        text = str(value).replace("'", "''")
        read.append(tables.same(f"SELECT id FROM TABLE WHERE {name} {operator} '{text}'"))
    is_pruned = name in ("n", "text", "day")
    # the file of nulls meets no comparison
    assert (min(read) < len(set(values)) - 1) == is_pruned
    assert tables.same(f"SELECT id FROM TABLE WHERE {name} IS NULL") == len(set(values))
    assert tables.read("SELECT count(*) FROM TABLE") == ([(4,)], 0)
    DeltaTable(tmp_path / "t").delete("id = 1")
    assert Tables(tmp_path, DeltaLakeTable).read("SELECT count(*) FROM TABLE")[0] == [(3,)]
