"""Commits as pyiceberg makes them, of generated updates; and updates with any damage."""

import contextlib
import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from pyiceberg.table.update import TableUpdate, update_table_metadata

from anabranch.errors import Conflict, Invalid
from anabranch.tables.iceberg.commits.encoded_metadata import decode_metadata, encode_metadata
from anabranch.tables.iceberg.commits.updates import apply_updates

from .conftest import (
    LOCATION,
    NOW,
    adding,
    comparable,
    created,
    orders,
    parsed,
    requests,
    specs,
    statistics,
)

UPDATES: TypeAdapter[Any] = TypeAdapter(tuple[TableUpdate, ...])
Metadata = dict[str, Any]
Updates = list[dict[str, Any]]
Kind = Callable[[st.DrawFn, Metadata], Updates]


def current_schema(now: Metadata) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in now["schemas"] if each["schema-id"] == now["current-schema-id"]
    )
    return found


def new_schema(draw: st.DrawFn, now: Metadata) -> Updates:
    schema = current_schema(now)
    column = now["last-column-id"] + draw(st.integers(1, 3))
    new = {"id": column, "name": f"new{column}", "required": False, "type": "string"}
    number = 1 + max(each["schema-id"] for each in now["schemas"])
    fields = [*schema["fields"], new]
    return [
        {"action": "add-schema", "schema": {**schema, "schema-id": number, "fields": fields}},
        {"action": "set-current-schema", "schema-id": draw(st.sampled_from([-1, number]))},
    ]


def new_spec(draw: st.DrawFn, now: Metadata) -> Updates:
    number = 1 + max(each["spec-id"] for each in now["partition-specs"])
    first = 1000 if now["format-version"] == 1 else now["last-partition-id"] + 1
    spec = draw(specs(current_schema(now), first)) | {"spec-id": number}

    def identity(each: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [(f["source-id"], f["transform"], f["name"]) for f in each["fields"]]

    if identity(spec) in map(identity, now["partition-specs"]):
        return []
    return [
        {"action": "add-spec", "spec": spec},
        {"action": "set-default-spec", "spec-id": draw(st.sampled_from([-1, number]))},
    ]


def new_order(draw: st.DrawFn, now: Metadata) -> Updates:
    number = 1 + max(each["order-id"] for each in now["sort-orders"])
    order = draw(orders(current_schema(now))) | {"order-id": number}
    if order["fields"] in [[], *(each["fields"] for each in now["sort-orders"])]:
        return []  # 0 is the id of the order that does not sort
    return [
        {"action": "add-sort-order", "sort-order": order},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]


def append(draw: st.DrawFn, now: Metadata) -> Updates:
    known = [each["snapshot-id"] for each in now["snapshots"]]
    number = draw(st.integers(2**53, 2**63 - 1).filter(lambda each: each not in known))
    parent = now.get("current-snapshot-id")
    more = {} if parent is None else {"parent-snapshot-id": parent}
    more["schema-id"] = now["current-schema-id"]
    ref = "main" if now["format-version"] == 1 else draw(st.sampled_from(["main", "audit"]))
    sequence: int = now.get("last-sequence-number", len(known)) + 1
    return adding(number, sequence, ref=ref, **more)


def new_properties(draw: st.DrawFn, now: Metadata) -> Updates:
    known = sorted(now["properties"].keys() - {"owner"})
    removed = draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    return [
        {"action": "set-properties", "updates": {"owner": draw(st.text(max_size=3))}},
        {"action": "remove-properties", "removals": removed},
    ]


def upgrade(_draw: st.DrawFn, _now: Metadata) -> Updates:
    return [{"action": "upgrade-format-version", "format-version": 2}]


def new_location(draw: st.DrawFn, _now: Metadata) -> Updates:
    return [{"action": "set-location", "location": f"{LOCATION}/{draw(st.integers(0, 9))}"}]


def any_snapshot(draw: st.DrawFn, now: Metadata) -> int:
    number: int = draw(st.sampled_from([each["snapshot-id"] for each in now["snapshots"]]))
    return number


def new_tag(draw: st.DrawFn, now: Metadata) -> Updates:
    tag = {
        "action": "set-snapshot-ref",
        "ref-name": "mark",
        "type": "tag",
        "snapshot-id": any_snapshot(draw, now),
        "max-ref-age-ms": draw(st.sampled_from([1, 2**60])),
    }
    gone = {"action": "remove-snapshot-ref", "ref-name": "mark"}
    return [tag, *([gone] if draw(st.booleans()) else [])]


def new_statistics(draw: st.DrawFn, now: Metadata) -> Updates:
    number = any_snapshot(draw, now)
    gone = {"action": "remove-statistics", "snapshot-id": number}
    more = [gone] if draw(st.booleans()) else []
    return [{"action": "set-statistics", "statistics": statistics(number)}, *more]


def new_partition_statistics(draw: st.DrawFn, now: Metadata) -> Updates:
    file = {
        "snapshot-id": any_snapshot(draw, now),
        "statistics-path": f"{LOCATION}/metadata/statistics.parquet",
        "file-size-in-bytes": 2**40,
    }
    return [{"action": "set-partition-statistics", "partition-statistics": file}]


KINDS: list[Kind] = [
    *(append, append, new_schema, new_spec, new_order, new_properties, upgrade, new_location)
]
OF_SNAPSHOTS = [new_tag, new_statistics, new_partition_statistics]


@st.composite
def commits(draw: st.DrawFn, now: Metadata) -> Updates:
    """The updates of a commit that is possible for metadata, and that pyiceberg applies alike."""
    kinds = KINDS + (OF_SNAPSHOTS if now["snapshots"] else [])
    kind: Kind = draw(st.sampled_from(kinds))
    return kind(draw, now)


@given(requests(), st.data())
def test_commits_make_what_pyiceberg_makes(request_body: dict[str, Any], data: Any) -> None:
    metadata: Any = created(request_body)
    for number in range(data.draw(st.integers(1, 6))):
        updates = data.draw(commits(metadata))
        before = copy.deepcopy(metadata), copy.deepcopy(updates)
        address = f"{LOCATION}/metadata/{number:05}-a.metadata.json"
        after = apply_updates(metadata, updates, NOW + number, metadata_location=address)
        assert (metadata, updates) == before
        other = update_table_metadata(
            parsed(metadata), UPDATES.validate_python(updates), metadata_location=address
        )
        assert other.last_updated_ms >= parsed(metadata).last_updated_ms
        expected = comparable(other)
        if after is metadata:  # pyiceberg writes it again
            expected["metadata-log"] = comparable(parsed(metadata))["metadata-log"]
        if metadata["format-version"] == 1:
            # these stay as they were in pyiceberg, which writes version 1 for itself only
            fields = ("schema", "partition-spec")
            now = comparable(parsed(after))
            expected |= {name: now[name] for name in fields if name in now}
            expected = {name: value for name, value in expected.items() if name in now}
            for each in (*expected["snapshots"], *now["snapshots"]):
                each.pop("sequence-number", None)
            expected.pop("last-sequence-number", None)
            now.pop("last-sequence-number", None)
            assert now == expected
        else:
            assert comparable(parsed(after)) == expected
        assert after["last-updated-ms"] >= metadata["last-updated-ms"]
        assert decode_metadata(encode_metadata(after)) == after
        metadata = json.loads(json.dumps(after))


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "id", "fields", "snapshot-id"]), children)
    ),
    max_leaves=6,
)


@given(requests(), st.data())
def test_malformed_updates_are_refused_and_change_nothing(body: dict[str, Any], data: Any) -> None:
    metadata: Any = apply_updates(created(body), adding(2**60, 1), NOW)
    updates = data.draw(commits(metadata))
    if updates:  # something of them is replaced or left out
        place: Any = data.draw(st.sampled_from(updates))
        while isinstance(place, dict):
            name = data.draw(st.sampled_from(sorted(place)))
            inner = place[name]
            if isinstance(inner, dict) and inner and data.draw(st.booleans()):
                place = inner
                continue
            if data.draw(st.booleans()):
                del place[name]
            else:
                place[name] = data.draw(GARBAGE)
            break
    before = copy.deepcopy((metadata, updates))
    try:
        after = apply_updates(metadata, updates, NOW)
    except (Invalid, Conflict):
        pass
    else:
        parsed(after)
    assert (metadata, updates) == before


@pytest.mark.parametrize(
    "metadata", [{}, [], None, 7, {"format-version": 2}, {"format-version": 9}]
)
def test_damaged_metadata_are_refused(metadata: Any) -> None:
    with pytest.raises(Invalid):
        apply_updates(metadata, [], NOW)


@given(requests(), st.data())
def test_metadata_with_any_damage_are_refused_or_used(body: dict[str, Any], data: Any) -> None:
    metadata = copy.deepcopy(dict(apply_updates(created(body), adding(2**60, 1), NOW)))
    place: Any = metadata
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(GARBAGE)
        break
    for updates in (adding(7, 9), [{"action": "remove-snapshots", "snapshot-ids": [2**60]}]):
        with contextlib.suppress(Invalid, Conflict):
            encode_metadata(apply_updates(metadata, updates, NOW))
