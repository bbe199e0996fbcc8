"""docs/compatibility.md says what the table of operations and the constraints files say."""

from __future__ import annotations

import sys

import pytest
from support.checkout import ROOT

from anabranch.rest.differences import DIFFERENCES, State
from anabranch.rest.table import EXTENSIONS, OPERATIONS

sys.path.insert(0, str(ROOT / "tools"))

from reference_pages.compatibility import CLIENTS, tables


def test_every_operation_has_one_row():
    made = tables(ROOT)
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
    paths = list(ROOT.glob(client.tests))
    assert paths
    name = {"awscli": "aws", "lakefs-sdk": "lakefs_sdk", "lakefs-spec": "lakefs_spec"}
    word = name.get(client.package, client.package)
    assert any(word in path.read_text("utf-8") for path in paths)
