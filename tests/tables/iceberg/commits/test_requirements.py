"""Requirements of commits: as pyiceberg validates them."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.update import TableRequirement

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.commits.requirements import check_requirements
from anabranch.tables.iceberg.commits.updates import apply_updates

from .conftest import NOW, UUID, adding, created, parsed, simple_request

REQUIREMENT: TypeAdapter[Any] = TypeAdapter(TableRequirement)
REQUIREMENTS: list[dict[str, Any]] = [
    {"type": "assert-create"},
    *({"type": "assert-table-uuid", "uuid": each} for each in (UUID, UUID.replace("1", "2"))),
    *(
        {"type": "assert-ref-snapshot-id", "ref": ref, "snapshot-id": number}
        for ref in ("main", "none")
        for number in (None, 2**62, 2**62 + 1)
    ),
    *({"type": "assert-last-assigned-field-id", "last-assigned-field-id": n} for n in (3, 4)),
    *({"type": "assert-current-schema-id", "current-schema-id": n} for n in (0, 1)),
    *(
        {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": n}
        for n in (999, 1000)
    ),
    *({"type": "assert-default-spec-id", "default-spec-id": n} for n in (0, 1)),
    *({"type": "assert-default-sort-order-id", "default-sort-order-id": n} for n in (0, 1)),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("requirement", REQUIREMENTS)
@pytest.mark.sample(13)
def test_a_requirement_holds_where_it_does_for_pyiceberg(
    requirement: dict[str, Any], version: int
) -> None:
    metadata = apply_updates(created(simple_request(version)), adding(2**62, 1), NOW)
    try:
        REQUIREMENT.validate_python(requirement).validate(parsed(metadata))
    except CommitFailedException:
        with pytest.raises(Conflict) as caught:
            check_requirements(metadata, [{"type": "assert-table-uuid", "uuid": UUID}, requirement])
        assert caught.value.kind == "table_changed"
    else:
        check_requirements(metadata, [requirement, requirement])


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_table_that_does_not_exist_meets_few_requirements(requirement: dict[str, Any]) -> None:
    fine = "assert-create", "assert-last-assigned-field-id", "assert-last-assigned-partition-id"
    if requirement["type"] in fine or requirement.get("snapshot-id", 0) is None:
        check_requirements(None, [requirement])
    else:
        with pytest.raises(Conflict, match="does not exist"):
            check_requirements(None, [requirement])


@pytest.mark.parametrize(
    "requirement",
    [
        {},
        [],
        {"type": "assert-view-uuid", "uuid": UUID},
        {"type": "assert-table-uuid"},
        {"type": "assert-table-uuid", "uuid": 7},
        {"type": "assert-default-spec-id", "default-spec-id": 0.0},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 2**63},
    ],
)
def test_a_requirement_that_is_malformed_or_not_known_is_refused(requirement: Any) -> None:
    with pytest.raises(Invalid):
        check_requirements(created(simple_request()), [requirement])
    with pytest.raises(Invalid):
        check_requirements(None, [requirement])
