"""Iceberg tables of two branches that become one, read by the package pyiceberg."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    TimestampType,
    TimeType,
)
from support.formats.iceberg_tables import IcebergBranches, rows_table
from support.merged_trees import read_tree
from support.session.hypothesis_profiles import examples

BASE = {1: "mon", 2: "mon", 3: "tue", 4: "wed"}


def test_appends_of_both_sides_are_in_the_table(branches):
    branches.change_source(lambda table: table.append(rows_table({5: "mon", 6: "thu"})))
    branches.change_source(lambda table: table.append(rows_table({7: "thu"})))
    branches.change_destination(lambda table: table.append(rows_table({8: "mon"})))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {**BASE, 5: "mon", 6: "thu", 7: "thu", 8: "mon"}


def test_snapshots_of_the_destination_stay(branches):
    branches.change_source(lambda table: table.append(rows_table({5: "mon"})))
    branches.change_destination(lambda table: table.append(rows_table({6: "mon"})))
    merged, _ = branches.merge()
    ids = [snapshot.snapshot_id for snapshot in branches.open(branches.destination).snapshots()]
    snapshots = branches.open(merged).snapshots()
    assert [snapshot.snapshot_id for snapshot in snapshots[:-1]] == ids
    assert snapshots[-1].parent_snapshot_id == ids[-1]
    assert snapshots[-1].sequence_number == 3
    assert snapshots[-1].summary["total-records"] == "6"
    assert branches.rows(merged, ids[0]) == BASE
    assert branches.rows(merged, ids[1]) == {**BASE, 6: "mon"}


@pytest.mark.sample(1)
def test_the_merged_table_can_be_written_to(branches):
    branches.change_source(lambda table: table.append(rows_table({5: "mon"})))
    branches.change_destination(lambda table: table.append(rows_table({6: "mon"})))
    merged, _ = branches.merge()
    branches.open(merged).append(rows_table({7: "tue"}))
    branches.catalog.load().delete("id = 5")
    assert branches.rows(branches.save()) == {**BASE, 6: "mon", 7: "tue"}


@pytest.mark.sample(1)
def test_partition_that_the_source_overwrote(branches):
    branches.change_source(lambda table: table.overwrite(rows_table({5: "mon"}), "day = 'mon'"))
    branches.change_destination(lambda table: table.append(rows_table({6: "tue", 7: "wed"})))
    for sides in (
        (branches.base, branches.source, branches.destination),
        (branches.base, branches.destination, branches.source),
    ):
        merged, run = branches.merge(*sides)
        assert run.conflicts == []
        assert branches.rows(merged) == {5: "mon", 3: "tue", 4: "wed", 6: "tue", 7: "wed"}


@pytest.mark.sample(1)
def test_rows_that_both_sides_deleted_in_different_partitions(branches):
    branches.change_source(lambda table: table.delete("id = 2"))
    branches.change_destination(lambda table: table.delete("day = 'wed'"))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {1: "mon", 3: "tue"}
    summary = branches.open(merged).current_snapshot().summary
    assert (summary.operation.value, summary["total-records"]) == ("overwrite", "2")


@pytest.mark.sample(1)
def test_a_merge_that_is_repeated_gives_the_same_bytes(branches):
    branches.change_source(lambda table: table.overwrite(rows_table({5: "mon"}), "day = 'mon'"))
    branches.change_destination(lambda table: table.append(rows_table({6: "tue"})))
    assert read_tree(branches.merge()[0]) == read_tree(branches.merge()[0])


@pytest.mark.slow
def test_merges_in_a_row_and_back(branches):
    was, dev, main = branches.base, branches.source, branches.destination
    expected = dict(BASE)
    for number in range(10, 40, 10):
        dev = branches.change(dev, lambda t, n=number: t.append(rows_table({n: "mon"})))
        dev = branches.change(dev, lambda t, n=number: t.append(rows_table({n + 1: "tue"})))
        main = branches.change(main, lambda t, n=number: t.append(rows_table({n + 2: "thu"})))
        expected |= {number: "mon", number + 1: "tue", number + 2: "thu"}
        merged, run = branches.merge(was, dev, main)
        assert run.conflicts == []
        assert branches.rows(merged) == expected
        was, main = dev, merged
        dev = branches.change(dev, lambda t, n=number: t.delete(f"id = {n}"))
        del expected[number]
        main = branches.change(main, lambda t, n=number: t.append(rows_table({n + 3: "wed"})))
        expected[number + 3] = "wed"
        into_dev, run = branches.merge(was, main, dev)
        assert run.conflicts == []
        assert branches.rows(into_dev) == expected
        was, dev = main, into_dev


@pytest.mark.sample(1)
def test_metadata_files_of_the_source_are_left_out(branches):
    """A reader that looks for the highest number would find them."""
    for number in (5, 6, 7):
        branches.change_source(lambda t, n=number: t.append(rows_table({n: "mon"})))
    branches.change_destination(lambda table: table.append(rows_table({8: "mon"})))
    merged, _ = branches.merge()
    trees = [read_tree(folder) for folder in (branches.source, branches.destination, merged)]
    source, destination, result = (
        {path for path in tree if path.startswith("metadata/")} for tree in trees
    )
    assert destination - result == set()
    numbers = [f"metadata/v{number}.metadata.json" for number in (4, 5, 6)]
    expected = destination.union(numbers) if branches.catalog.hadoop else destination
    assert {path for path in result & source if "version" not in path} <= expected


@pytest.mark.sample(1)
def test_special_characters_and_null_in_partitions(branches):
    values = dict(enumerate(["a b", "b:%/ü", None, "", "x=y"], 10))
    branches.change_source(lambda table: table.append(rows_table(values)))
    branches.change_destination(lambda table: table.append(rows_table({20: "b:%/ü", 21: None})))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {**BASE, **values, 20: "b:%/ü", 21: None}


AT = "{}-01-02T03:04:05.000006"
VALUES = {
    "amount": (DecimalType(9, 2), lambda n: decimal.Decimal(f"{n}.25"), pa.decimal128(9, 2)),
    "at": (TimestampType(), lambda n: dt.datetime.fromisoformat(AT.format(1960 + n)), None),
    "share": (DoubleType(), lambda n: n / 3, None),
    "code": (BinaryType(), lambda n: bytes([n, 255]), None),
    "time": (TimeType(), lambda n: dt.time(1, 2, n, 3), None),
    "even": (BooleanType(), lambda n: n % 2 == 0, None),
}


def test_partition_values_of_all_types(tmp_path):
    """Entries of manifests that are written again keep them."""
    fields = enumerate(VALUES.items(), 2)
    columns = [NestedField(n, name, each[0], required=False) for n, (name, each) in fields]
    schema = Schema(NestedField(1, "id", LongType(), required=False), *columns)
    partitions = (
        PartitionField(each.field_id, 1000 + each.field_id, IdentityTransform(), f"by_{each.name}")
        for each in columns
    )

    def table(*numbers):
        values = {
            name: pa.array([value(number) for number in numbers], arrow_type)
            for name, (_, value, arrow_type) in VALUES.items()
        }
        return pa.table({"id": pa.array(numbers, pa.int64()), **values})

    branches = IcebergBranches(
        tmp_path, schema=schema, spec=PartitionSpec(*partitions), rows=table(1, 2, 3)
    )
    branches.change_source(lambda each: each.append(table(5, 6)))
    branches.change_source(lambda each: each.delete("id = 1"))
    branches.change_destination(lambda each: each.append(table(7)))
    merged, run = branches.merge()
    assert run.conflicts == []
    found = branches.open(merged).scan().to_arrow().sort_by("id")
    assert found.to_pylist() == table(2, 3, 5, 6, 7).to_pylist()
    for number in (2, 5, 7):
        for condition in (f"amount = {number}.25", f"at = '{AT.format(1960 + number)}'"):
            rows = branches.catalog.load().scan(condition).to_arrow()
            assert rows["id"].to_pylist() == [number]


def test_table_without_rows_on_the_destination(tmp_path):
    """It has no snapshot, and neither has the base."""
    branches = IcebergBranches(tmp_path, rows=None)
    branches.change_source(lambda table: table.append(rows_table({5: "mon"})))
    branches.change_destination(
        lambda table: table.transaction().set_properties(owner="ada").commit_transaction()
    )
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged) == {5: "mon"}
    assert branches.open(merged).properties == {"owner": "ada"}
    assert branches.open(merged).current_snapshot().parent_snapshot_id is None


DAYS = st.sampled_from(["mon", "tue", "wed", "thu"])
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "overwrite", "delete", "delete-row"]), DAYS),
    min_size=1,
    max_size=3,
)


def perform(operations, number, *, changed):
    """Returns a change that performs operations, and adds days to those in which rows changed."""

    def change(table):
        for index, (name, day) in enumerate(operations, number):
            table = table.catalog.load()
            if name == "append":
                table.append(rows_table({index: day}))
                continue
            changed.add(day)
            if name == "overwrite":
                table.overwrite(rows_table({index: day}), f"day = '{day}'")
            else:
                table.delete(f"day = '{day}'" + (" and id < 2" if name == "delete-row" else ""))

    return change


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(theirs=OPERATIONS, ours=OPERATIONS)
def test_random_operations_are_merged_as_sets_of_rows(tmp_path_factory, theirs, ours):
    branches = IcebergBranches(tmp_path_factory.mktemp("tables"))
    days = set(), set()
    branches.change_source(perform(theirs, 100, changed=days[0]))
    branches.change_destination(perform(ours, 200, changed=days[1]))
    sides = (branches.base, branches.source, branches.destination)
    was, there, here = (set(branches.rows(side).items()) for side in sides)
    assume(was not in (there, here))
    merged, run = branches.merge()
    if (was - there) & (was - here):
        assert run.conflicts
    if run.conflicts:
        assert days[0] & {day for _, day in ours}  # where the destination changed or added rows
    else:
        expected = (was & there & here) | (there - was) | (here - was)
        assert set(branches.rows(merged).items()) == expected
