"""The metadata of new tables: as pyiceberg makes them, and what is refused."""

import copy
import uuid
from typing import Any

import pytest
from hypothesis import given
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata as pyiceberg_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder

from anabranch.errors import Invalid

from .conftest import LOCATION, UUID, comparable, created, parsed, requests, simple_request


def expected(request: dict[str, Any]) -> Any:
    """The metadata that pyiceberg makes."""
    spec, order = request.get("partition-spec"), request.get("write-order")
    return pyiceberg_metadata(
        Schema.model_validate(request["schema"]),
        UNPARTITIONED_PARTITION_SPEC if spec is None else PartitionSpec.model_validate(spec),
        UNSORTED_SORT_ORDER if order is None else SortOrder.model_validate(order),
        LOCATION,
        dict(request["properties"]),
        uuid.UUID(UUID),
    )


@given(requests(versions=(1, 2)))
def test_a_new_table_is_that_of_pyiceberg(request_body: dict[str, Any]) -> None:
    before = copy.deepcopy(request_body)
    metadata = created(request_body)
    assert request_body == before
    assert metadata["properties"].pop("write.parquet.compression-codec") == "zstd"
    assert comparable(parsed(metadata)) == comparable(expected(request_body))


def test_fields_that_are_not_known_are_kept() -> None:
    body = simple_request()
    body["schema"]["fields"][0] |= {"future": {"a": [1]}, "doc": "the id"}
    field = created(body)["schemas"][0]["fields"][0]
    assert field["future"] == {"a": [1]}
    assert field["doc"] == "the id"


def test_a_table_of_version_3_has_the_types_and_defaults_of_the_specification() -> None:
    # "Schemas and Data Types": types added in version 3; "Default values"
    types = [
        *("timestamp_ns", "timestamptz_ns", "unknown", "variant"),
        *("geometry", "geometry(srid:3857)", "geography", "geography(srid:4326, karney)"),
    ]
    fields: list[dict[str, Any]] = [
        {"id": number, "name": f"c{number}", "required": False, "type": kind}
        for number, kind in enumerate(types)
    ]
    defaults: list[tuple[Any, Any]] = [
        ("int", -(2**31)),
        ("long", 2**63 - 1),
        ("double", 1.5),
        ("decimal(9, 2)", "14.20"),
        ("date", "2017-11-16"),
        ("time", "22:31:08.123456"),
        ("timestamptz", "2017-11-16T22:31:08.123456+00:00"),
        ("timestamp_ns", "2017-11-16T22:31:08.123456789"),
        ("string", "line\nbreak"),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("fixed[2]", "00ff"),
        ({"type": "struct", "fields": []}, {}),
        (
            {"type": "list", "element-id": 90, "element": "int", "element-required": True},
            [1, 2],
        ),
    ]
    fields += [
        {
            "id": 20 + number,
            "name": f"d{number}",
            "required": True,
            "type": kind,
            "initial-default": value,
            "write-default": value,
        }
        for number, (kind, value) in enumerate(defaults)
    ]
    body = simple_request(3, schema={"type": "struct", "fields": fields})
    metadata = created(body)
    stored = metadata["schemas"][0]["fields"]
    assert [field["type"] for field in stored[: len(types)]] == types
    assert [field["initial-default"] for field in stored[len(types) :]] == [
        value for _, value in defaults
    ]
    assert metadata["next-row-id"] == 0
    assert metadata["format-version"] == 3
    for version in (1, 2):
        for field in fields:
            schema = {"type": "struct", "fields": [field]}
            with pytest.raises(Invalid, match="format version 3"):
                created(simple_request(version, schema=schema))


def field(**changes: Any) -> dict[str, Any]:
    return {"id": 1, "name": "a", "required": False, "type": "int", **changes}


def nested(depth: int) -> Any:
    kind: Any = "int"
    for number in range(depth):
        kind = {
            "type": "list",
            "element-id": 1000 + number,
            "element": kind,
            "element-required": False,
        }
    return kind


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([field(id="1")], "Expected `int`"),
        ([field(id=2**31)], "<= 2147483647"),
        ([field(id=1.0)], "Expected `int`"),
        ([field(type="number")], "unknown type: 'number'"),
        ([field(type="decimal(39, 2)")], "unknown type"),
        ([field(type={"type": "set"})], "unknown type"),
        ([field(type=None)], "unknown type"),
        ([field(type={"type": "struct"})], "must be a list"),
        ([field(type={"type": "list", "element": "int"})], "element-required"),
        ([field(required=None)], "Expected `bool`"),
        ([field(), field(name="b")], "field id 1 twice"),
        ([field(), field(id=2)], "column 'a' twice"),
        (
            [
                field(name="a.b"),
                field(id=2, type={"type": "struct", "fields": [field(id=3, name="b")]}),
            ],
            "column 'a.b' twice",
        ),
        ([field(type=nested(65))], "nested more than 64 times"),
        ([field(type=nested(400))], "nested more than 300 times"),
        ([field(type="unknown", required=True)], "cannot be required"),
        ([field(**{"initial-default": True})], "no value of the type 'int'"),
        ([field(**{"write-default": 2**31})], "no value of the type 'int'"),
        ([field(type="variant", **{"initial-default": 1})], "no value of the type 'variant'"),
        ([field(type="fixed[2]", **{"initial-default": "00"})], "no value of the type"),
        (7, "Expected `array`"),
    ],
)
def test_a_schema_that_no_table_can_have_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        created(simple_request(3, schema={"type": "struct", "fields": fields}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": None}, "Expected `object`"),
        ({"schema": {"type": "list", "fields": []}}, "schema"),
        ({"properties": {"format-version": "4"}}, "no format version '4'"),
        ({"properties": {"a": 1}}, "Expected `str`"),
        ({"partition-spec": {"fields": [{"name": "p", "transform": "day"}]}}, "one column"),
    ],
)
def test_a_request_that_is_malformed_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        created(simple_request(2, **changes))


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ({"transform": "day", "source-id": 1}, "cannot have the column 'id' of type long"),
        ({"transform": "day", "source-id": 9}, "no column with the id 9"),
        ({"transform": "bucket", "source-id": 1}, "no transform 'bucket'"),
        ({"transform": "bucket[0]", "source-id": 1}, "no transform"),
        ({"transform": "bucket[9999999999]", "source-id": 1}, "too large"),
        ({"transform": "day[3]", "source-id": 2}, "no transform"),
        ({"transform": "zorder", "source-id": 1}, "no transform"),
        ({"transform": "bucket[4]", "source-id": 1, "name": "note"}, "has this name"),
        ({"transform": "identity", "source-id": 1, "name": "note"}, "has this name"),
        ({"transform": "identity", "source-ids": [1, 2]}, "must have one column"),
    ],
)
def test_a_partition_that_no_table_can_have_is_refused(
    partition: dict[str, Any], message: str
) -> None:
    spec = {"spec-id": 0, "fields": [{"name": "part", "field-id": 1000, **partition}]}
    with pytest.raises(Invalid, match=message):
        created(simple_request(**{"partition-spec": spec}))


@pytest.mark.parametrize("column", [2, 4, 9])
def test_rows_are_identified_by_required_columns_only(column: int) -> None:
    body = simple_request()
    body["schema"]["fields"].append({"id": 4, "name": "d", "required": True, "type": "double"})
    body["schema"]["identifier-field-ids"] = [1, column]
    with pytest.raises(Invalid, match="identif"):
        created(body)
