"""docs/compatibility.md says what the table of operations and the constraints files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.rest.compatibility import CLIENTS, main, tables, with_tables
from anabranch.rest.differences import DIFFERENCES, State
from anabranch.rest.table import EXTENSIONS, OPERATIONS

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "compatibility.md"


def test_the_page_is_up_to_date():
    page = PAGE.read_text("utf-8")
    assert page == with_tables(page, PROJECT), (
        "run: python -m anabranch.rest.compatibility docs/compatibility.md"
    )


def test_every_operation_has_one_row():
    made = tables(PROJECT)
    for name, operations in (("operations", OPERATIONS), ("extensions", EXTENSIONS)):
        rows = made[name].splitlines()[2:]
        listed = sorted(row.split("`")[1] for row in rows)
        assert listed == sorted(operation.id for operation in operations)


def test_every_difference_is_one_of_an_implemented_operation():
    implemented = {operation.id for operation in OPERATIONS if operation.handler is not None}
    assert DIFFERENCES.keys() <= implemented
    states = {difference.state for difference in DIFFERENCES.values()}
    assert states == {State.EXTENDED, State.DIFFERS}
    assert all(difference.how for difference in DIFFERENCES.values())


def test_operations_with_idempotency_keys_are_extended():
    keyed = {operation.id for operation in OPERATIONS if operation.keyed}
    assert keyed == {name for name, each in DIFFERENCES.items() if "Idempotency-Key" in each.how}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.package)
def test_the_tests_of_a_client_exist_and_mention_it(client):
    paths = list(PROJECT.glob(client.tests))
    assert paths
    name = {"awscli": "aws", "lakefs-sdk": "lakefs_sdk", "lakefs-spec": "lakefs_spec"}
    word = name.get(client.package, client.package)
    assert any(word in path.read_text("utf-8") for path in paths)


def test_writing_it_anew_changes_only_the_tables(tmp_path):
    page = PAGE.read_text("utf-8")
    (tmp_path / "docs").mkdir()
    stale = tmp_path / "docs" / "compatibility.md"
    stale.write_text(page.replace(tables(PROJECT)["operations"], "| old |"), "utf-8")
    assert stale.read_text("utf-8") != page
    for constraints in PROJECT.glob("constraints*.txt"):
        (tmp_path / constraints.name).write_text(constraints.read_text("utf-8"), "utf-8")
    main([str(stale)])
    assert stale.read_text("utf-8") == page
