"""Choices for the rows and cells that conflict, compared with a model of dictionaries, over all
types and edits of the schema; the merged file is read by pyarrow and DuckDB.
"""

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.keyed_tables import COLUMNS, FORMATS, QUICK, TABLES
from support.session.hypothesis_profiles import examples

from anabranch.testing.strategy_runs import path_conflict, run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

from .test_rows_by_model import (
    SIDES,
    WRITERS,
    Table,
    cell,
    column,
    edited,
    merged_by_model,
    read,
    specification,
    written,
)

READERS = {
    "csv": "read_csv('{}', all_varchar=true, header=true, delim=',', quote='\"')",
    "parquet": "read_parquet('{}')",
    "jsonl": "read_json('{}', format='newline_delimited', columns={{'id': 'VARCHAR', "
    "'a': 'VARCHAR', 'b': 'VARCHAR', 'c': 'VARCHAR'}})",
}


def listed(path, folder, contents, amount=1000, **options):
    """Returns the rows in conflict, page by page."""
    strategy = rows_strategy(options)
    conflict = path_conflict(path, str(folder), **contents)
    items, start = [], 0
    while True:
        page = strategy.list_conflicts(conflict, start, amount)
        items += page.items
        if not page.has_more:
            return items
        start = int(page.next_offset)


def choose(row, draw, sides_of=None):
    """Returns a choice for a row in conflict, and the sides of its cells; of the row as a whole if
    it has none. `sides_of` are the sides that are allowed for a column.
    """
    has_base = row.base is not None
    every = ["source", "destination", *(["base"] if has_base else [])]
    allowed = [side for side in every if all(side in sides_of(name) for name in row.columns)]
    if not row.columns or draw.random() < 0.5:
        take = draw.choice([*allowed, "delete"])
        sides = dict.fromkeys(row.columns, take) if take != "delete" else None
        return {"key": row.key, "take": take}, (take if not row.columns else sides)
    sides = {name: draw.choice([s for s in sides_of(name) if s in every]) for name in row.columns}
    return {"key": row.key, "cells": sides}, sides


def settled(tables, rows, kept, chosen, key_of):
    """Returns the rows of the merge by what is chosen, in the order of the file. `tables` are the
    rows by side, `rows` those that do not conflict and the other cells of those that do.
    """
    rows = {key: dict(row) for key, row in rows.items()}
    restored = []
    for row, what in chosen:
        key = key_of(row)
        if row.columns:
            if what is None:
                del rows[key]
                continue
            for name, side in what.items():
                if name in kept:
                    rows[key][name] = tables[side][key].get(name)
        elif what != "delete" and tables[what].get(key) is not None:
            rows[key] = {name: tables[what][key].get(name) for name in kept}
            if what == "base" and key not in tables["destination"]:
                restored.append(key)
    theirs = [key for key in tables["source"] if key not in tables["destination"]]
    order = [*tables["destination"], *(key for key in theirs if key not in restored), *restored]
    return {key: rows[key] for key in order if key in rows}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_choices_are_those_of_the_model_for_all_types(name, tmp_path_factory, draw):
    base = Table({each: column(draw, name) for each in "abc"}, {})
    for key in draw.sample(range(20), draw.randrange(2, 8)):
        base.rows[key] = {each: cell(spec, draw) for each, spec in base.columns.items()}
    source, destination = edited(base, draw, name), edited(base, draw, name)
    for key in [*base.rows][:2]:  # most edits do not conflict
        each = draw.choice("abc")
        for table in (source, destination):
            if key in table.rows and each in table.columns:
                table.rows[key][each] = cell(table.columns[each], draw)
    versions = dict(zip(SIDES, (base, source, destination), strict=True))
    rows, conflicts, kept = merged_by_model(base, source, destination)
    specs = {each: specification(each, source, destination) for each in kept}
    if None in specs.values():
        return  # both sides added a column of this name with other types
    contents = {side: written(each.to_arrow(), name) for side, each in versions.items()}
    path, folder = f"t.{name}", tmp_path_factory.mktemp("rows")
    found = listed(path, folder, contents, amount=draw.randrange(1, 4), key="id")
    pairs = {(row.key["id"], each) for row in found for each in row.columns or [""]}
    assert pairs == conflicts

    def sides_of(column_name):
        if column_name in kept:
            return SIDES
        return [s for s in SIDES[1:] if column_name not in versions[s].columns]

    chosen = [(row, *choose(row, draw, sides_of)) for row in found]
    run = run_strategy(
        rows_strategy({"key": "id", "choices": [choice for _, choice, _ in chosen]}),
        path,
        **contents,
    )
    assert run.conflicts == []
    expected = settled(
        {side: each.rows for side, each in versions.items()},
        rows,
        kept,
        [(row, what) for row, _, what in chosen],
        lambda row: row.key["id"],
    )
    merged = read(run.files[path], name)
    assert merged["id"].to_pylist() == list(expected)
    whole = read(written(Table(specs, expected).to_arrow(), name), name)
    for each in kept:
        if "dictionary" in str(whole[each].type):  # the merge may have wider indices
            assert merged[each].to_pylist() == whole[each].to_pylist()
        else:
            assert merged[each].equals(whole[each]), specs[each]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@QUICK
@given(TABLES, TABLES, TABLES, st.randoms(use_true_random=False))
def test_duckdb_reads_what_was_chosen(name, tmp_path_factory, base, source, destination, draw):
    write, _ = FORMATS[name]
    tables = {"base": base, "source": source, "destination": destination}
    contents = {side: write(table, COLUMNS) for side, table in tables.items()}
    path, folder = f"t.{name}", tmp_path_factory.mktemp("rows")
    models = {
        side: Table(dict.fromkeys(COLUMNS, ("string",) * 3), table)
        for side, table in tables.items()
    }
    rows, conflicts, kept = merged_by_model(models["base"], models["source"], models["destination"])
    found = listed(path, folder, contents, key="id")
    assert {(row.key["id"], each) for row in found for each in row.columns or [""]} == conflicts
    for row in found:
        for side, table in tables.items():
            shown = getattr(row, side)
            there = table.get(row.key["id"])
            assert shown == (None if there is None else {"id": row.key["id"], **there})
    chosen = [(row, *choose(row, draw, lambda _: SIDES)) for row in found]
    options = {"key": "id", "choices": [choice for _, choice, _ in chosen]}
    run = run_strategy(rows_strategy(options), path, **contents)
    assert run.conflicts == []
    expected = settled(
        tables, rows, kept, [(row, what) for row, _, what in chosen], lambda row: row.key["id"]
    )
    file = folder / f"merged.{name}"
    file.write_bytes(run.files[path])
    seen = duckdb.sql(f"SELECT id, a, b, c FROM {READERS[name].format(file)}").fetchall()
    wanted = [(key, *(row[each] for each in COLUMNS)) for key, row in expected.items()]
    # JSON lines that are restored stay beside the source's
    assert (sorted(seen) == sorted(wanted)) if name == "jsonl" else (seen == wanted)
