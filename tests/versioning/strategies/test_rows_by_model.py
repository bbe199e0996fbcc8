"""Three-way merges of random tables of all types, with edits of their schema, by a plain model.

A cell of the model is the position of a value among those of its type, so that nothing of it passes
through a type of Python's.
"""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.arrow_types import IN_PARQUET, NESTED, SCALARS, array_of, nested
from support.session.hypothesis_profiles import examples

from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

SIDES = ("base", "source", "destination")
WIDER = {
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "uint8": "int32",
    "float16": "float64",
    "float32": "float64",
    "timestamp_s": "timestamp_us",
    "time32_ms": "time64_us",
    "duration_s": "duration_ms",
}
CASES = [
    (name, shape)
    for name in SCALARS
    for shape in NESTED
    # Arrow does not write slices of these
    if not (name.endswith("_view") and shape in ("struct", "list_of_structs"))
    and name not in ("null", "run_end_encoded")
]
WRITERS = {"parquet": IN_PARQUET, "arrow": [name for name in SCALARS if "dictionary" not in name]}


class Table:
    """Columns by name: a type, the type that the values are from, and a shape; rows by key."""

    def __init__(self, columns, rows):
        self.columns = columns
        self.rows = rows

    def copy(self):
        return Table(dict(self.columns), {key: dict(row) for key, row in self.rows.items()})

    def to_arrow(self):
        arrays = {"id": pa.array(list(self.rows), pa.int32())}
        for name, (kind, origin, shape) in self.columns.items():
            arrays[name] = made(kind, origin, shape, [row.get(name) for row in self.rows.values()])
        names = list(arrays) if not self.columns else [*list(arrays)[1:2], "id", *list(arrays)[2:]]
        return pa.table({name: arrays[name] for name in names})


def made(kind, origin, shape, cells):
    """Returns values of a type, which are those of a narrower one."""
    values = SCALARS[origin][1]
    stored = array_of(
        SCALARS[origin][0], [None if cell is None else values[cell] for cell in cells]
    )
    if kind != origin:
        stored = stored.cast(SCALARS[kind][0])
    return nested(shape, stored, [cell is None for cell in cells], is_numbered=False)


def written(table, name):
    sink = io.BytesIO()
    if name == "parquet":
        pq.write_table(table, sink, row_group_size=3)
    else:
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table, max_chunksize=3)
    return sink.getvalue()


def read(content, name):
    stream = io.BytesIO(content)
    return pq.read_table(stream) if name == "parquet" else pa.ipc.open_file(stream).read_all()


def edited(table, draw, name):  # noqa: C901, PLR0912  one branch for each kind of edit
    """Returns a table with changes of rows, cells and columns."""
    table = table.copy()
    for key in draw.sample(sorted(table.rows), draw.randrange(min(3, len(table.rows)) + 1)):
        del table.rows[key]
    for key in draw.sample(range(20, 30), draw.randrange(3)):
        table.rows[key] = {each: cell(spec, draw) for each, spec in table.columns.items()}
    for row in table.rows.values():
        for each, spec in table.columns.items():
            if draw.random() < 0.1:
                row[each] = cell(spec, draw)
    for each, (kind, origin, shape) in list(table.columns.items()):
        if draw.random() < 0.1:
            del table.columns[each]
            for row in table.rows.values():
                row.pop(each, None)
        elif kind in WIDER and draw.random() < 0.3:
            table.columns[each] = (WIDER[kind], origin, shape)
    if draw.random() < 0.3:
        new = draw.choice(["x", "y"])
        table.columns[new] = column(draw, name)
        for row in table.rows.values():
            row[new] = cell(table.columns[new], draw)
    if draw.random() < 0.2:
        names = list(table.columns)
        draw.shuffle(names)
        table.columns = {each: table.columns[each] for each in names}
    if draw.random() < 0.3:
        keys = list(table.rows)
        draw.shuffle(keys)
        table.rows = {key: table.rows[key] for key in keys}
    return table


def column(draw, name):
    kind, shape = draw.choice([each for each in CASES if each[0] in WRITERS[name]])
    return (kind, kind, shape)


def cell(spec, draw):
    count = len(SCALARS[spec[1]][1])
    return None if draw.random() < 0.2 else draw.randrange(count)


def merged_by_model(base, source, destination):  # noqa: C901  the rules in one place
    """Returns the rows of the merge, and the (key, column) that conflict."""
    names = list(dict.fromkeys([*destination.columns, *source.columns, *base.columns]))
    kept = [
        name
        for name in names
        if (name in source.columns and name in destination.columns) or (name not in base.columns)
    ]
    rows, conflicts = {}, set()
    for key in [*destination.rows, *source.rows, *base.rows]:
        was, theirs, ours = (each.rows.get(key) for each in (base, source, destination))
        if theirs is None and ours is None:
            continue

        def at(table, row, name, was=was):
            return row.get(name) if name in table.columns else (was or {}).get(name)

        if theirs is None or ours is None:
            table, there = (destination, ours) if theirs is None else (source, theirs)
            if was is None:
                rows[key] = {name: there.get(name) for name in kept}
            elif any(at(table, there, name) != was.get(name) for name in names):
                conflicts.add((key, ""))
            continue
        rows[key] = {}
        for name in names:
            before = (was or {}).get(name)
            s, d = at(source, theirs, name), at(destination, ours, name)
            in_both = name in source.columns and name in destination.columns
            if name not in kept:
                if was is not None and (s != before or d != before):
                    conflicts.add((key, name))
            elif name not in base.columns and not in_both:
                rows[key][name] = s if name in source.columns else d
            elif s != d and (was is None or before not in (s, d)):
                conflicts.add((key, name))
            else:
                rows[key][name] = s if was is not None and d == before else d
    return rows, conflicts, kept


def specification(name, source, destination):
    """Returns the type and shape of a column of the merge, None if the types clash."""
    specs = [each.columns[name] for each in (destination, source) if name in each.columns]
    if len({spec[1:] for spec in specs}) > 1:
        return None
    kinds = [spec[0] for spec in specs]
    order = [kinds[0]]
    while WIDER.get(order[-1]):
        order.append(WIDER[order[-1]])
    if kinds[-1] in order:
        return (kinds[-1], *specs[0][1:])
    return specs[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=examples(24), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_a_merge_is_that_of_the_model(name, draw):
    base = Table({each: column(draw, name) for each in "abc"}, {})
    for key in draw.sample(range(20), draw.randrange(8)):
        base.rows[key] = {each: cell(spec, draw) for each, spec in base.columns.items()}
    source, destination = edited(base, draw, name), edited(base, draw, name)
    rows, conflicts, kept = merged_by_model(base, source, destination)
    specs = {each: specification(each, source, destination) for each in kept}
    if None in specs.values():
        return  # both sides added a column of this name with other types
    contents = {
        side: written(each.to_arrow(), name)
        for side, each in zip(SIDES, (base, source, destination), strict=True)
    }
    run = run_strategy(rows_strategy({"key": "id"}), f"t.{name}", **contents)
    assert {(each.key["id"], each.column) for each in run.conflicts} == conflicts
    if conflicts:
        return
    found = read(run.files[f"t.{name}"], name)
    assert found["id"].to_pylist() == list(rows)
    assert set(found.column_names) == {"id", *kept}
    expected = Table(specs, rows)
    whole = read(written(expected.to_arrow(), name), name)
    for each in kept:
        wanted = whole[each]
        if "dictionary" in str(wanted.type):  # the merge may have wider indices
            assert found[each].to_pylist() == wanted.to_pylist()
        else:
            assert found[each].equals(wanted), specs[each]
