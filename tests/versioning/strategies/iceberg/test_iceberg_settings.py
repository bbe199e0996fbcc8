"""Schemas, partition specs and properties of Iceberg tables that one side or both have changed."""

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.types import StringType
from support.formats.iceberg_tables import IcebergBranches, rows_table

from anabranch.errors import Conflict


def append(rows):
    return lambda table: table.append(rows_table(rows))


def add_column(name):
    return lambda table: table.update_schema().add_column(name, StringType()).commit()


def add_partition(table):
    table.update_spec().add_identity("id").commit()


@pytest.mark.parametrize("changed", ["source", "destination"])
@pytest.mark.parametrize("change", [add_column("note"), add_partition], ids=["schema", "spec"])
@pytest.mark.sample(3)
def test_definitions_that_one_side_changed_are_those_of_the_merge(branches, change, changed):
    for side in ("source", "destination"):
        if side == changed:
            getattr(branches, f"change_{side}")(change)
        getattr(branches, f"change_{side}")(append({5 + (side == "source"): "mon"}))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged).keys() == {1, 2, 3, 4, 5, 6}
    known = branches.open(getattr(branches, changed)).metadata
    found = branches.open(merged).metadata
    assert found.schema() == known.schema()
    assert found.spec() == known.spec()
    assert (found.last_column_id, found.last_partition_id) == (
        known.last_column_id,
        known.last_partition_id,
    )
    again = branches.change(merged, append({7: "tue"}))
    assert branches.rows(again).keys() == {1, 2, 3, 4, 5, 6, 7}


def test_a_schema_alone_is_merged_without_a_snapshot(branches):
    branches.change_source(add_column("note"))
    branches.change_destination(append({5: "mon"}))
    merged, run = branches.merge()
    assert run.conflicts == []
    known = branches.open(branches.destination).metadata
    found = branches.open(merged)
    assert found.current_snapshot().snapshot_id == known.current_snapshot_id
    assert len(found.metadata.metadata_log) == len(known.metadata_log) + 1
    assert found.schema().column_names == ["id", "day", "note"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("theirs", "ours", "part"),
    [
        (add_column("one"), add_column("two"), "schema"),
        (add_partition, lambda t: t.update_spec().remove_field("day").commit(), "partition spec"),
    ],
)
def test_definitions_that_both_sides_changed(branches, theirs, ours, part):
    branches.change_source(theirs)
    branches.change_destination(ours)
    (conflict,) = branches.merge()[1].conflicts
    assert conflict.key == {"metadata": part}
    assert conflict.message == f"both sides changed the {part}"


def test_definitions_that_both_sides_changed_alike(branches):
    for side in ("source", "destination"):
        getattr(branches, f"change_{side}")(add_column("note"))
        getattr(branches, f"change_{side}")(append({5 + (side == "source"): "mon"}))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.rows(merged).keys() == {1, 2, 3, 4, 5, 6}


def test_a_partition_by_a_column_that_the_other_side_drops(tmp_path):
    branches = IcebergBranches(tmp_path, spec=UNPARTITIONED_PARTITION_SPEC)
    branches.change_source(lambda table: table.update_spec().add_identity("day").commit())
    branches.change_destination(lambda table: table.update_schema().delete_column("day").commit())
    with pytest.raises(Conflict, match=r"do not fit together: .*no column with the id 2"):
        branches.merge()


def test_ids_of_columns_that_the_source_takes_back_are_not_used_again(branches):
    without = branches.base
    branches.change_base(add_column("note"))
    branches.change_destination(append({5: "mon"}))
    merged, run = branches.merge(branches.base, without, branches.destination)  # as a revert does
    assert run.conflicts == []
    assert branches.open(merged).schema().column_names == ["id", "day"]
    changed = branches.change(merged, add_column("other"))
    assert branches.open(changed).schema().find_field("other").field_id == 4


def set_properties(**values):
    return lambda table: table.transaction().set_properties(**values).commit_transaction()


def test_properties_are_merged_by_their_names(branches):
    branches.change_base(set_properties(a="1", b="1", c="1"))

    def change_and_remove(table):
        with table.transaction() as transaction:
            transaction.set_properties(a="2")
            transaction.remove_properties("c")

    branches.change_source(change_and_remove)
    branches.change_destination(set_properties(b="3", d="4"))
    merged, run = branches.merge()
    assert run.conflicts == []
    assert branches.open(merged).properties == {"a": "2", "b": "3", "d": "4"}
    branches.change_destination(set_properties(a="5"))
    (conflict,) = branches.merge()[1].conflicts
    assert conflict.key == {"metadata": "properties", "property": "a"}
