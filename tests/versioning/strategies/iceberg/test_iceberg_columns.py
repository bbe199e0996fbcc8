"""Tables whose rows and columns both sides change: each row once, with its values by column."""

import itertools

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.types import StringType
from support.formats.iceberg_tables import IcebergBranches
from support.session.hypothesis_profiles import examples

CHANGES = st.sampled_from(["append", "append", "add", "rename", "drop", "partition", "property"])
SIDE = st.lists(CHANGES, min_size=1, max_size=4)


class Model:
    """What a side of a table should be: its columns by their ids, rows by their numbers, each with
    its values by ids of columns.
    """

    def __init__(self, columns, rows):
        self.columns, self.rows = dict(columns), dict(rows)
        self.properties, self.new_rows = {}, 0
        self.has_new_schema = self.has_new_spec = False

    def copy(self):
        return Model(self.columns, self.rows)

    @property
    def has_changed(self):
        return bool(self.has_new_schema or self.has_new_spec or self.properties or self.new_rows)


def change(table, model, kind, name, number):
    """Makes a change of a table, which `name` and `number` make different from all others."""
    others = [each for each in model.columns if each != 1]
    if kind == "append":
        values = {column: f"{number}-{column}" for column in others}
        arrays = [pa.array([number], pa.int64())]
        arrays += [pa.array([values[column]], pa.string()) for column in others]
        names = ["id", *(model.columns[column] for column in others)]
        table.append(pa.Table.from_arrays(arrays, names=names))
        model.rows[number] = values
        model.new_rows += 1
    elif kind == "add":
        table.update_schema().add_column(name, StringType()).commit()
        added = table.schema().find_field(name).field_id
        model.columns[added] = name
        model.has_new_schema = True
    elif kind == "rename" and others:
        table.update_schema().rename_column(model.columns[others[0]], name).commit()
        model.columns[others[0]] = name
        model.has_new_schema = True
    elif kind == "drop" and len(others) > 1:
        table.update_schema().delete_column(model.columns.pop(others[-1])).commit()
        model.has_new_schema = True
    elif kind == "partition" and not model.has_new_spec:
        table.update_spec().add_identity("id").commit()
        model.has_new_spec = True
    elif kind == "property":
        table.transaction().set_properties(**{name: str(number)}).commit_transaction()
        model.properties[name] = str(number)


def read(branches, saved):
    table = branches.open(saved)
    found = table.scan().to_arrow().to_pylist()
    columns = {field.field_id: field.name for field in table.schema().fields}
    rows = {row["id"]: row for row in found}
    assert len(rows) == len(found)
    return table, columns, rows


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=SIDE, theirs=SIDE, ours=SIDE)
def test_columns_are_known_by_their_ids(tmp_path_factory, base, theirs, ours):
    folder = tmp_path_factory.mktemp("columns")
    branches = IcebergBranches(folder, rows=None, spec=UNPARTITIONED_PARTITION_SPEC)
    numbers = itertools.count(1)

    def apply(saved, model, kinds, side):
        for kind in kinds:
            number = next(numbers)
            saved = branches.change(
                saved, lambda t, k=kind, n=number: change(t, model, k, f"{side}{n}", n)
            )
        return saved

    was = Model({1: "id", 2: "day"}, {})
    start = apply(branches.base, was, [each for each in base if each != "partition"], "b")
    properties = dict(was.properties)
    sides = []
    for kinds, name in ((theirs, "t"), (ours, "o")):
        model = was.copy()
        sides.append((apply(start, model, kinds, name), model))
    (source, one), (destination, other) = sides
    assume(one.has_changed and other.has_changed)  # else the merge asks no strategy
    merged, run = branches.merge(start, source, destination)
    if (one.has_new_schema and other.has_new_schema) or (one.has_new_spec and other.has_new_spec):
        parts = {conflict.key["metadata"] for conflict in run.conflicts}
        both_schema = one.has_new_schema and other.has_new_schema
        assert parts <= {"schema", "partition spec"}
        assert ("schema" in parts) == both_schema or one.columns == other.columns
        if parts:
            return
    assert run.conflicts == []
    columns = one.columns if one.has_new_schema else other.columns
    table, found_columns, found = read(branches, merged)
    assert found_columns == columns
    expected = {
        number: {"id": number}
        | {name: values.get(column) for column, name in columns.items() if column != 1}
        for number, values in (one.rows | other.rows).items()
    }
    assert found == expected
    assert table.properties == properties | one.properties | other.properties
    new_spec = one.has_new_spec or other.has_new_spec
    assert bool(table.spec().fields) == new_spec
