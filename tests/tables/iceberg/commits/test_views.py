"""The metadata of views, which pyiceberg reads; their versions as the specification has them."""

import copy
import json
from typing import Any

import pytest
from pyiceberg.view.metadata import ViewMetadata

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.commits.views import (
    apply_view_updates,
    check_view_requirements,
    new_view_metadata,
)

from .conftest import LOCATION, NOW, UUID, simple_request

LATER = NOW + 60_000


def version(number: int = 1, sql: str = "SELECT 1", **fields: Any) -> dict[str, Any]:
    return {
        "version-id": number,
        "timestamp-ms": NOW + number,
        "schema-id": 0,
        "summary": {"engine-name": "Spark"},
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
        "default-namespace": ["city"],
        **fields,
    }


def view(**fields: Any) -> dict[str, Any]:
    body = {
        "name": "recent",
        "schema": {**simple_request()["schema"], "schema-id": 4},
        "view-version": version(7),
        "properties": {"owner": "city"},
        **fields,
    }
    before = copy.deepcopy(body)
    made = new_view_metadata(body, location=LOCATION, uuid=UUID, now_ms=NOW)
    assert body == before
    return made


def replacing(new: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"action": "add-view-version", "view-version": new},
        {"action": "set-current-view-version", "view-version-id": -1},
    ]


def read(metadata: Any) -> ViewMetadata:
    return ViewMetadata.model_validate(json.loads(json.dumps(metadata)))


def test_a_new_view_is_read_by_pyiceberg() -> None:
    metadata = view()
    found = read(metadata)
    assert (found.view_uuid, found.format_version, found.location) == (UUID, 1, LOCATION)
    assert found.current_version_id == found.versions[0].version_id == 7
    assert found.versions[0].schema_id == found.schemas[0].schema_id == 0
    assert [each.version_id for each in found.version_log] == [7]
    assert found.properties == {"owner": "city"}


def test_a_view_is_replaced_and_goes_back() -> None:
    metadata: Any = view()
    schema = {"type": "struct", "fields": simple_request()["schema"]["fields"][:1]}
    updates = [
        {"action": "add-schema", "schema": schema},
        *replacing(version(1, "SELECT 2", **{"schema-id": -1})),
    ]
    before = copy.deepcopy((metadata, updates))
    after: Any = apply_view_updates(metadata, updates, LATER)
    assert (metadata, updates) == before
    assert after["current-version-id"] == 8  # the one after the highest
    assert after["versions"][1]["schema-id"] == after["schemas"][1]["schema-id"] == 1
    assert after["version-log"][-1] == {"timestamp-ms": NOW + 1, "version-id": 8}
    back = [{"action": "set-current-view-version", "view-version-id": 7}]
    again = apply_view_updates(after, back, LATER)
    assert again["version-log"][-1] == {"timestamp-ms": LATER, "version-id": 7}
    same = replacing({**metadata["versions"][0], "timestamp-ms": LATER, "version-id": 99})
    assert apply_view_updates(again, same, LATER) is again
    read(again)


def test_old_versions_are_forgotten() -> None:
    metadata: Any = view(properties={"version.history.num-entries": "3"})
    for number in range(1, 6):
        metadata = apply_view_updates(metadata, replacing(version(1, f"SELECT 1{number}")), LATER)
    assert [each["version-id"] for each in metadata["versions"]] == [10, 11, 12]
    assert [each["version-id"] for each in metadata["version-log"]] == [10, 11, 12]
    default: Any = view()
    for number in range(1, 15):
        default = apply_view_updates(default, replacing(version(1, f"SELECT 1{number}")), LATER)
    assert len(default["versions"]) == 10
    first = [{"action": "set-current-view-version", "view-version-id": 12}]
    added = [
        {"action": "add-view-version", "view-version": version(1, f"SELECT -{number}")}
        for number in range(12)
    ]
    kept = apply_view_updates(apply_view_updates(default, first, LATER), added, LATER)
    assert len(kept["versions"]) == 13
    assert kept["versions"][0]["version-id"] == 12


def test_a_dialect_is_dropped_only_if_the_view_allows_it() -> None:
    metadata = view()
    trino = [{"type": "sql", "sql": "SELECT 1", "dialect": "trino"}]
    updates = replacing(version(1, representations=trino))
    with pytest.raises(Invalid, match="no definition in spark"):
        apply_view_updates(metadata, updates, LATER)
    allow = {"action": "set-properties", "updates": {"replace.drop-dialect.allowed": "true"}}
    assert apply_view_updates(metadata, [allow, *updates], LATER)["current-version-id"] == 8


def test_a_commit_creates_a_view() -> None:
    updates: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "add-schema", "schema": {**simple_request()["schema"], "schema-id": 0}},
        {"action": "set-location", "location": LOCATION},
        *replacing(version()),
    ]
    read(apply_view_updates(None, updates, NOW))
    for missing in (0, 2, 3, 4, 5):
        with pytest.raises(Invalid):
            apply_view_updates(None, updates[:missing] + updates[missing + 1 :], NOW)


def test_updates_that_change_nothing_return_the_metadata_themselves() -> None:
    metadata = view()
    same: list[dict[str, Any]] = [
        {"action": "assign-uuid", "uuid": UUID.upper()},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "add-schema", "schema": metadata["schemas"][0]},
        {"action": "set-location", "location": f"{LOCATION}/"},
        {"action": "set-properties", "updates": {"owner": "city"}},
        {"action": "remove-properties", "removals": ["none"]},
        {"action": "set-current-view-version", "view-version-id": 7},
    ]
    assert apply_view_updates(metadata, same, LATER) is metadata
    changed = apply_view_updates(
        metadata, [{"action": "remove-properties", "removals": ["owner"]}], LATER
    )
    assert changed["properties"] == {}


def test_requirements_of_views() -> None:
    metadata = view()
    check_view_requirements(metadata, [{"type": "assert-view-uuid", "uuid": UUID.upper()}])
    other = [{"type": "assert-view-uuid", "uuid": UUID.replace("0", "1")}]
    for known in (metadata, None):
        with pytest.raises(Conflict) as caught:
            check_view_requirements(known, other)
        assert caught.value.kind == "table_changed"
    for wrong in ([{"type": "assert-create"}], [{"type": "assert-view-uuid"}], 7):
        with pytest.raises(Invalid):
            check_view_requirements(metadata, wrong)  # type: ignore[arg-type]


def adding(**fields: Any) -> dict[str, Any]:
    return {"action": "add-view-version", "view-version": version(**fields)}


TWICE = [{"type": "sql", "sql": "SELECT 1", "dialect": each} for each in ("spark", "Spark")]


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"action": "add-snapshot"}, "unknown action"),
        ({"action": "upgrade-format-version", "format-version": 2}, "format version 2"),
        ({"action": "assign-uuid", "uuid": UUID.replace("0", "1")}, "cannot be changed"),
        ({"action": "set-current-view-version", "view-version-id": 9}, "no version-id 9"),
        ({"action": "set-current-view-version", "view-version-id": -1}, "adds none"),
        (adding(**{"schema-id": 9}), "no schema-id"),
        (adding(**{"schema-id": -1}), "no schema"),
        (adding(representations=[]), "length"),
        (adding(representations=TWICE), "multiple queries for dialect"),
        (adding(summary=None), "Expected"),
        ({"action": "add-view-version"}, "missing"),
    ],
)
def test_what_cannot_be_is_refused(update: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        apply_view_updates(view(), [update], LATER)


@pytest.mark.parametrize("metadata", [{}, [], 7, {"format-version": 1}])
def test_damaged_metadata_are_refused(metadata: Any) -> None:
    with pytest.raises(Invalid):
        apply_view_updates(metadata, [], LATER)
