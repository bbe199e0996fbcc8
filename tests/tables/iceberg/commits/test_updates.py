"""Updates of tables that pyiceberg applies otherwise, or not: as the specification says."""

import gzip
import time
from typing import Any

import pytest
from pydantic import TypeAdapter
from pyiceberg.table.update import TableUpdate
from support.session.sizes import sized

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.commits.encoded_metadata import decode_metadata, encode_metadata
from anabranch.tables.iceberg.commits.updates import apply_updates

from .conftest import (
    LOCATION,
    NOW,
    UUID,
    adding,
    created,
    simple_request,
    snapshot,
    statistics,
)

UPDATES: TypeAdapter[Any] = TypeAdapter(tuple[TableUpdate, ...])


def test_an_unknown_action_is_refused() -> None:
    for update in ({"action": "add-view"}, {"action": None}, {}, {"action": ["x"]}):
        with pytest.raises(Invalid, match="unknown action"):
            apply_updates(created(simple_request()), [update], NOW)


def test_updates_that_change_nothing_return_the_metadata_themselves() -> None:
    metadata = apply_updates(created(simple_request()), adding(1, 1), NOW)
    same: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": UUID.upper()},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "set-location", "location": f"{LOCATION}/"},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "set-default-spec", "spec-id": 0},
        {"action": "set-properties", "updates": {}},
        {"action": "remove-properties", "removals": ["none"]},
        {"action": "remove-snapshots", "snapshot-ids": [9]},
        {"action": "remove-snapshot-ref", "ref-name": "none"},
        {"action": "remove-statistics", "snapshot-id": 9},
        {"action": "remove-partition-statistics", "snapshot-id": 9},
        {"action": "remove-encryption-key", "key-id": "none"},
        {"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 1},
    ]
    assert apply_updates(metadata, same, NOW, metadata_location="s3://a") is metadata


def test_a_commit_creates_a_table() -> None:
    template = created(simple_request(1, **{"partition-spec": {"fields": []}}))
    updates: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "add-schema", "schema": template["schemas"][0], "last-column-id": 3},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": template["partition-specs"][0]},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": template["sort-orders"][0]},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": LOCATION},
        {"action": "set-properties", "updates": template["properties"]},
    ]
    assert apply_updates(None, updates, NOW) == template
    for missing in range(len(updates)):
        kept = updates[:missing] + updates[missing + 1 :]
        if updates[missing]["action"] not in ("set-properties", "upgrade-format-version"):
            with pytest.raises(Invalid):
                apply_updates(None, kept, NOW)


def test_definitions_that_are_there_already_keep_their_ids() -> None:
    metadata = created(simple_request())
    other = {**metadata["schemas"][0], "schema-id": 77}
    spec: dict[str, Any] = {
        "spec-id": 9,
        "fields": [{"source-id": 2, "name": "day", "transform": "day"}],
    }
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": other},
        {"action": "add-spec", "spec": spec},
        {"action": "add-spec", "spec": {**spec, "spec-id": 50}},
        {"action": "set-default-spec", "spec-id": -1},
    ]
    after = apply_updates(metadata, updates, NOW)
    assert [each["schema-id"] for each in after["schemas"]] == [0]
    assert [each["spec-id"] for each in after["partition-specs"]] == [0, 1]
    assert after["partition-specs"][1]["fields"][0]["field-id"] == 1000
    assert (after["default-spec-id"], after["last-partition-id"]) == (1, 1000)
    months: dict[str, Any] = {"fields": [{"source-id": 2, "name": "month", "transform": "month"}]}
    last = apply_updates(
        after,
        [{"action": "add-spec", "spec": {**months, "fields": spec["fields"] + months["fields"]}}],
        NOW,
    )
    ids = [field["field-id"] for field in last["partition-specs"][2]["fields"]]
    assert ids == [1000, 1001]
    assert last["last-partition-id"] == 1001


def test_the_snapshot_log_has_no_gaps() -> None:
    # "Table Metadata Fields": entries before a snapshot that has expired are removed
    metadata: Any = created(simple_request())
    for number in range(1, 5):
        metadata = apply_updates(metadata, adding(number, number), NOW)
    expire = [{"action": "remove-snapshots", "snapshot-ids": [2]}]
    after = apply_updates(metadata, expire, NOW)
    assert [each["snapshot-id"] for each in after["snapshot-log"]] == [3, 4]
    assert [each["snapshot-id"] for each in after["snapshots"]] == [1, 3, 4]
    every = [{"action": "remove-snapshots", "snapshot-ids": [1, 3, 4]}]
    empty = apply_updates(after, every, NOW)
    assert "current-snapshot-id" not in empty
    assert empty["refs"] == {} == empty["refs"]
    assert empty["snapshot-log"] == empty["snapshots"] == []


def test_snapshots_between_two_updates_of_a_commit_are_not_in_the_log() -> None:
    updates = [*adding(1, 1), *adding(2, 2), *adding(3, 3)]
    after = apply_updates(created(simple_request()), updates, NOW)
    assert [each["snapshot-id"] for each in after["snapshot-log"]] == [3]
    assert len(after["snapshots"]) == 3


def test_the_metadata_log_keeps_as_many_files_as_the_property_says() -> None:
    metadata: Any = created(simple_request())
    for number in range(5):
        kept = {"write.metadata.previous-versions-max": "2", "n": str(number)}
        metadata = apply_updates(
            metadata,
            [{"action": "set-properties", "updates": kept}],
            NOW - 10 * number,  # clocks may go back, the table does not
            metadata_location=f"s3://f/{number}",
        )
    assert [each["metadata-file"] for each in metadata["metadata-log"]] == ["s3://f/3", "s3://f/4"]
    assert {each["timestamp-ms"] for each in metadata["metadata-log"]} == {NOW}
    assert metadata["last-updated-ms"] == NOW


def test_rows_of_version_3_have_ids() -> None:
    # "Row Lineage": next-row-id grows by the rows of each snapshot
    metadata: Any = created(simple_request(3))
    for number, rows in enumerate((5, 0, 2**60)):
        fields = {"first-row-id": metadata["next-row-id"], "added-rows": rows}
        metadata = apply_updates(metadata, adding(number, number + 1, **fields), NOW)
    assert metadata["next-row-id"] == 2**60 + 5
    with pytest.raises(Invalid, match="no first-row-id"):
        apply_updates(metadata, adding(9, 9), NOW)
    late = adding(9, 9, **{"first-row-id": 4, "added-rows": 1})
    with pytest.raises(Conflict, match="first-row-id 4"):
        apply_updates(metadata, late, NOW)
    lineage = [{"action": "enable-row-lineage"}]
    assert apply_updates(metadata, lineage, NOW) is metadata
    with pytest.raises(Invalid, match="format version 3"):
        apply_updates(created(simple_request(2)), lineage, NOW)


def test_encryption_keys_are_of_version_3() -> None:
    key = {"key-id": "k1", "encrypted-key-metadata": "aGVsbG8=", "encrypted-by-id": "kek"}
    add = [{"action": "add-encryption-key", "encryption-key": key}]
    with pytest.raises(Invalid, match="format version 3"):
        apply_updates(created(simple_request(2)), add, NOW)
    metadata = apply_updates(created(simple_request(3)), add, NOW)
    assert metadata["encryption-keys"] == [key]
    assert apply_updates(metadata, add, NOW) is metadata
    other = [{**add[0], "encryption-key": {**key, "encrypted-key-metadata": "eA=="}}]
    with pytest.raises(Invalid, match="another key"):
        apply_updates(metadata, other, NOW)
    gone = apply_updates(metadata, [{"action": "remove-encryption-key", "key-id": "k1"}], NOW)
    assert "encryption-keys" not in gone


def test_an_upgrade_leaves_out_what_later_versions_do_not_have() -> None:
    metadata = apply_updates(created(simple_request(1)), adding(1, 1), NOW)
    assert metadata["schema"] == metadata["schemas"][0]
    assert metadata["partition-spec"] == []
    assert "sequence-number" not in metadata["snapshots"][0]
    assert "last-sequence-number" not in metadata
    upgrade = {"action": "upgrade-format-version", "format-version": 3}
    after = apply_updates(metadata, [upgrade], NOW)
    assert "schema" not in after
    assert "partition-spec" not in after
    assert (after["last-sequence-number"], after["next-row-id"]) == (0, 0)
    with pytest.raises(Invalid, match="cannot go back"):
        apply_updates(after, [{**upgrade, "format-version": 2}], NOW)
    by_property = {"action": "set-properties", "updates": {"format-version": "3", "uuid": "x"}}
    same = apply_updates(metadata, [by_property], NOW)
    assert same["format-version"] == 3
    assert not {"uuid", "format-version"} & set(same["properties"])


@pytest.mark.parametrize(
    ("updates", "error", "message"),
    [
        ([{"action": "assign-uuid", "uuid": UUID[::-1]}], Invalid, "cannot be changed|no UUID"),
        ([{"action": "set-current-schema", "schema-id": -1}], Invalid, "adds none"),
        ([{"action": "set-current-schema", "schema-id": 5}], Invalid, "no schema-id 5"),
        ([{"action": "remove-schemas", "schema-ids": [0]}], Invalid, "in use"),
        ([{"action": "remove-partition-specs", "spec-ids": [0]}], Invalid, "in use"),
        (adding(1, 9), Invalid, "snapshot 1 already"),
        (adding(2, 1, **{"parent-snapshot-id": 1}), Conflict, "sequence number 1"),
        (
            [{"action": "add-snapshot", "snapshot": snapshot(2**63, 5)}],
            Invalid,
            "<= 9223372036854775807",
        ),
        (
            [{"action": "set-snapshot-ref", "ref-name": "b", "type": "branch", "snapshot-id": 5}],
            Invalid,
            "no snapshot 5",
        ),
        (
            [{"action": "set-snapshot-ref", "ref-name": "main", "type": "tag", "snapshot-id": 1}],
            Invalid,
            "is a branch",
        ),
        ([{"action": "set-properties", "updates": {"a": None}}], Invalid, "Expected `str`"),
        ([{"action": "set-location", "location": "/"}], Invalid, "empty"),
        ([{"action": "set-location"}], Invalid, "missing"),
    ],
)
def test_what_cannot_be_is_refused(updates: Any, error: type[Exception], message: str) -> None:
    metadata = apply_updates(created(simple_request()), adding(1, 1), NOW)
    with pytest.raises(error, match=message):
        apply_updates(metadata, updates, NOW)


def test_a_column_of_the_default_partitions_cannot_be_dropped() -> None:
    spec = {"fields": [{"source-id": 2, "field-id": 1000, "name": "d", "transform": "day"}]}
    metadata = created(simple_request(**{"partition-spec": spec}))
    schema = metadata["schemas"][0]
    less = {**schema, "fields": [each for each in schema["fields"] if each["name"] != "at"]}
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": less},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    with pytest.raises(Invalid, match="no column with the id 2"):
        apply_updates(metadata, updates, NOW)
    unpartitioned: list[dict[str, Any]] = [
        {"action": "add-spec", "spec": {"fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
    ]
    assert len(apply_updates(metadata, updates + unpartitioned, NOW)["partition-specs"]) == 2


def test_a_column_may_get_the_name_of_a_partition() -> None:
    spec = {"fields": [{"source-id": 2, "field-id": 1000, "name": "day", "transform": "day"}]}
    metadata = created(simple_request(**{"partition-spec": spec}))
    schema = metadata["schemas"][0]
    column = {"id": 4, "name": "day", "required": False, "type": "date"}
    updates: list[dict[str, Any]] = [
        {"action": "add-schema", "schema": {**schema, "fields": [*schema["fields"], column]}},
        {"action": "set-current-schema", "schema-id": -1},
    ]
    assert apply_updates(metadata, updates, NOW)["current-schema-id"] == 1


def test_fields_that_are_not_known_stay() -> None:
    metadata = {**created(simple_request()), "future": {"n": 2**70}, "statistics": None}
    after = apply_updates(metadata, adding(1, 1, future=[1]), NOW)
    assert after["future"] == {"n": 2**70}
    assert after["snapshots"][0]["future"] == [1]
    assert decode_metadata(encode_metadata(after))["future"] == {"n": 2**70}


def test_metadata_of_more_than_100_mib_are_refused() -> None:
    large = {**created(simple_request()), "x": "a" * (100 << 20)}
    with pytest.raises(Invalid, match="more than 100 MiB"):
        encode_metadata(large)
    with pytest.raises(Invalid, match="more than 100 MiB"):
        decode_metadata(b" " * ((100 << 20) + 1))


def test_compressed_metadata_are_read() -> None:
    metadata = created(simple_request())
    content = gzip.compress(encode_metadata(metadata))
    assert decode_metadata(content) == metadata
    for damaged in (content[:-9], content[:2] + b"x" + content[3:], gzip.compress(b"1" * 10)):
        with pytest.raises(Invalid):
            decode_metadata(damaged)
    with pytest.raises(Invalid, match="more than 100 MiB"):
        decode_metadata(gzip.compress(b" " * ((100 << 20) + 1)))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"[" * 100_000, b'{"a": 1e999}', b"\xff"])
def test_files_that_are_no_metadata_are_refused(content: bytes) -> None:
    with pytest.raises(Invalid):
        decode_metadata(content)


@pytest.mark.slow
def test_very_many_updates_of_a_commit_take_time_in_proportion() -> None:
    many = sized(4_000, weekly=10_000)
    column = {"name": "c", "required": False, "type": "int"}
    fields = [*simple_request()["schema"]["fields"], {**column, "id": 4}]
    part = {"source-id": 4, "name": "p"}
    statistic = {"action": "set-statistics"}
    kinds: list[list[dict[str, Any]]] = [
        [update for number in range(1, many) for update in adding(number, number)],
        [{"action": "remove-snapshots", "snapshot-ids": [number]} for number in range(1, many)],
        [{**statistic, "statistics": statistics(number)} for number in range(many)],
        [{"action": "remove-statistics", "snapshot-id": number} for number in range(many)],
        [{"action": "set-properties", "updates": {f"p{number}": ""}} for number in range(many)],
        [
            {
                "action": "add-schema",
                "schema": {
                    "type": "struct",
                    "fields": [*fields, {**column, "id": 5 + number, "name": f"n{number}"}],
                },
            }
            for number in range(many)
        ],
        [{"action": "set-current-schema", "schema-id": number} for number in range(1, many)],
        [
            {"action": "add-spec", "spec": {"fields": [{**part, "transform": f"truncate[{n}]"}]}}
            for n in range(1, many)
        ],
        [{"action": "remove-schemas", "schema-ids": [number]} for number in range(many - 1)],
    ]
    started = time.perf_counter()
    after = apply_updates(created(simple_request()), [e for kind in kinds for e in kind], NOW)
    assert len(after["partition-specs"]) == many
    assert time.perf_counter() - started < 30
