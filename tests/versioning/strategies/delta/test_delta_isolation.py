"""Operations beside an append: whatever the package deltalake refuses is a conflict."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from support.formats.delta_tables import open_table, rows
from support.merged_trees import branch_folder


def append(table: DeltaTable, number: int, day: str) -> None:
    write_deltalake(table, one_row(number, day), mode="append")


def overwrite(table: DeltaTable, day: str, predicate: str | None) -> None:
    write_deltalake(table, one_row(50, day), mode="overwrite", predicate=predicate)


def one_row(number: int, day: str) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int64()), "day": [day]})


def insert_missing(table: DeltaTable) -> None:
    merge = table.merge(one_row(9, "fri"), "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_not_matched_insert_all().execute()


OPERATIONS = {
    "append": lambda table: append(table, 61, "tue"),
    "delete rows": lambda table: table.delete("id > 2"),
    "delete a partition": lambda table: table.delete("day = 'tue'"),
    "delete rows of a partition": lambda table: table.delete("day = 'tue' and id > 2"),
    "delete all": lambda table: table.delete(),
    "update a row": lambda table: table.update(predicate="id = 3", updates={"id": "30"}),
    "update a partition": lambda table: table.update(predicate="day = 'tue'", updates={"id": "30"}),
    "overwrite": lambda table: overwrite(table, "tue", None),
    "overwrite a partition": lambda table: overwrite(table, "tue", "day = 'tue'"),
    "merge": insert_missing,
    "compact": lambda table: table.optimize.compact(),
}
APPENDED = {"matching": (60, "tue"), "other partition": (60, "wed"), "other values": (0, "tue")}
ALLOWED = {
    *itertools.product(("append", "compact"), APPENDED),
    *((f"{name} a partition", "other partition") for name in ("delete", "update", "overwrite")),
}
"""What is merged. deltalake allows more: it compares predicates with the statistics of files, and
does not compare an operation that has no predicate.
"""


@pytest.mark.parametrize("appended", APPENDED)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.sample(6)
def test_operation_beside_an_append_conflicts_if_deltalake_refuses_it(
    branches, operation, appended
):
    append(open_table(branches.base), 5, "mon")  # two files to compact
    branches.fork()
    late = branch_folder(branches.base, "late")
    stale = open_table(late)
    append(open_table(late), *APPENDED[appended])
    refused = False
    try:
        OPERATIONS[operation](stale)
    except CommitFailedError:
        refused = True

    OPERATIONS[operation](open_table(branches.source))
    append(open_table(branches.destination), *APPENDED[appended])
    merged, conflicts = branches.merge()
    assert (not conflicts) == ((operation, appended) in ALLOWED)
    if conflicts:
        assert "depends on rows" in conflicts[0].message
    else:
        assert not refused
        assert rows(merged) == rows(late)
