"""INT96 timestamps of Parquet: exact in previews, differences, merges and checks, or named."""

import datetime as dt
import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.formats.row_comparison import compare

from anabranch.actions.hooks.checks.tables.table_file import open_table_file
from anabranch.errors import Conflict
from anabranch.tables.json_values import json_column
from anabranch.tables.open_table import open_table, open_typed_table
from anabranch.tables.table import UnreadableTable
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

FAR = dt.datetime(9999, 12, 31)  # noqa: DTZ001  it has no zone
NEAR = 1704067200123456789
SHOWN_NEAR, SHOWN_FAR = "2024-01-01 00:00:00.123456789", "9999-12-31 00:00:00"
FAR_DAY = 5373484
"""The Julian day number of 9999-12-31."""


def written(columns):
    """Returns a file with INT96 timestamps, each of which is stored as it is."""
    sink = io.BytesIO()
    options = {"use_dictionary": False, "compression": "none", "row_group_size": 2}
    pq.write_table(pa.table(columns), sink, use_deprecated_int96_timestamps=True, **options)
    return sink.getvalue()


def mixed(columns):
    """Returns a file in which the timestamp of the second of 1970-01-02 is one of the year 9999."""
    near = struct.pack("<QI", 1_000_000_000, 2440589)
    content = written(columns)
    assert near in content
    return content.replace(near, struct.pack("<QI", 0, FAR_DAY))


SECOND = 86_401_000_000_000
"""In nanoseconds, the timestamp that `mixed` replaces."""


def nanos(*values):
    return pa.array(values, pa.timestamp("ns"))


def shown(content, **options):
    table = open_typed_table(io.BytesIO(content), **options)
    batches = list(table.batches())
    columns = [
        [value for batch in batches for value in json_column(batch.column(place))]
        for place in range(len(table.schema))
    ]
    return dict(zip(table.schema.names, columns, strict=True)), table


def test_each_column_has_the_unit_that_holds_its_values():
    content = written(
        {
            "fine": nanos(NEAR, None, 0),
            "far": pa.array([FAR, FAR, None], pa.timestamp("us")),
            "id": [1, 2, 3],
            "list": pa.array([[NEAR], None, [0, None]], pa.list_(pa.timestamp("ns"))),
        }
    )
    columns, table = shown(content)
    assert columns == {
        "fine": [SHOWN_NEAR, None, "1970-01-01 00:00:00"],
        "far": [SHOWN_FAR, SHOWN_FAR, None],
        "id": [1, 2, 3],
        "list": [[SHOWN_NEAR], None, ["1970-01-01 00:00:00", None]],
    }
    assert list(table.notes) == []
    assert [field.type.unit for field in table.schema if field.name in ("fine", "far")] == [
        "ns",
        "us",
    ]
    for places in ([2, 0], [1], [3, 1, 0], [0]):
        (first, *_) = table.batches(places)
        assert first.schema.names == [table.schema.names[place] for place in places]
    assert [batch.num_rows for batch in table.read(1, [1, 0])] == [1]
    assert sum(batch.num_rows for batch in table.batches([])) == table.count_rows() == 3


def test_only_the_rows_that_are_shown_decide():
    content = mixed({"t": nanos(NEAR, 0, SECOND)})
    columns, table = shown(content, rows=2)
    assert columns["t"][0] == SHOWN_NEAR
    assert list(table.notes) == []


def test_a_column_that_no_unit_holds_is_named_and_the_others_are_exact():
    content = mixed({"id": [1, 2], "t": nanos(SECOND, NEAR), "u": nanos(NEAR, 1)})
    columns, table = shown(content)
    (note,) = table.notes
    assert note.inexact_column == "t"
    assert note.text.startswith("Column t has timestamps with nanoseconds, and others that are out")
    assert columns["t"] == [SHOWN_FAR, "2024-01-01 00:00:00.123456"]
    assert columns["u"] == [SHOWN_NEAR, "1970-01-01 00:00:00.000000001"]
    with pytest.raises(Conflict, match="the right is not regular: Column t has timestamps"):
        compare("t.parquet", None, content)
    checked = open_table_file(io.BytesIO(content), "t.parquet", "")
    assert list(checked.batches(["u"]))
    with pytest.raises(UnreadableTable, match="Column t has timestamps"):
        list(checked.batches(["id", "t"]))


def test_a_change_of_a_nanosecond_is_a_difference_and_is_merged():
    far = pa.array([FAR, FAR], pa.timestamp("us"))
    base, source, destination = (
        written({"id": [1, 2], "t": nanos(*times), "far": far, "n": numbers})
        for times, numbers in (((NEAR, 1), (1, 1)), ((NEAR + 1, 1), (1, 1)), ((NEAR, 1), (1, 2)))
    )
    (found,) = compare("t.parquet", base, source).items
    assert (found.columns, found.right["t"]) == (["t"], "2024-01-01 00:00:00.123456790")
    run = run_strategy(
        rows_strategy({"key": "id"}),
        "t.parquet",
        base=base,
        source=source,
        destination=destination,
    )
    merged = open_table(io.BytesIO(run.files["t.parquet"]))
    assert merged.int96 == {"t", "far"}
    columns, _ = shown(run.files["t.parquet"])
    assert columns["t"] == ["2024-01-01 00:00:00.123456790", "1970-01-01 00:00:00.000000001"]
    assert (columns["far"], columns["n"]) == ([SHOWN_FAR] * 2, [1, 2])
