"""The schema, partition spec, sort order and properties of a table that two sides have changed.

Columns and partitions are known by ids, so files that one side adds can be read by the schema and
the specs that the other side has changed. What only one side has changed is that side's; if both
have, and not alike, it is a conflict: the same ids would stand for different columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from anabranch.errors import Invalid
from anabranch.tables.iceberg.commits.draft import check_definitions
from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.iceberg.changes import TableVersion
from anabranch.versioning.strategies.side_objects import refusal

__all__ = ["merged_settings", "settings_conflicts"]


class _Part(NamedTuple):
    """A list of definitions with their ids, the field that chooses one, and all fields."""

    name: str
    definitions: str
    id_name: str
    fields: Sequence[str]


_PARTS = (
    _Part(
        *("schema", "schemas", "schema-id"),
        ("schemas", "current-schema-id", "schema"),
    ),
    _Part(
        *("partition spec", "partition-specs", "spec-id"),
        ("partition-specs", "default-spec-id", "partition-spec"),
    ),
    _Part("sort order", "sort-orders", "order-id", ("sort-orders", "default-sort-order-id")),
)

_HIGHEST = ("last-column-id", "last-partition-id")
"""Ids that never become lower: files of either side may have columns and partitions up to them."""

_Metadata = Mapping[str, Any]


def settings_conflicts(
    base: TableVersion, source: TableVersion, destination: TableVersion
) -> Iterator[ContentConflict]:
    """Yields what both sides have changed, and not alike."""
    sides = base.metadata, source.metadata, destination.metadata
    for part in _PARTS:
        if all(_is_changed(part, sides[0], side) for side in sides[1:]) and _is_changed(
            part, sides[1], sides[2]
        ):
            yield ContentConflict(
                key={"metadata": part.name}, message=f"both sides changed the {part.name}"
            )
    was, theirs, ours = map(_properties, sides)
    for name in sorted(theirs.keys() | was.keys()):
        before, source_value, value = (each.get(name) for each in (was, theirs, ours))
        if before != source_value != value != before:
            yield ContentConflict(
                key={"metadata": "properties", "property": name},
                message=f"both sides changed the property {name!r}",
            )


def merged_settings(
    base: TableVersion, source: TableVersion, destination: TableVersion
) -> dict[str, Any]:
    """Returns the fields of the merged metadata that are not those of the destination; None for one
    that is left out. Raises Conflict if the changes of the sides do not fit together.
    """
    was, theirs, ours = base.metadata, source.metadata, destination.metadata
    new: dict[str, Any] = {}
    for part in _PARTS:
        chosen = theirs if _is_changed(part, was, theirs) else ours
        fields: dict[str, Any] = {name: chosen.get(name) for name in part.fields}
        if fields[part.definitions]:
            others = ours if chosen is theirs else theirs
            fields[part.definitions] = _with_missing(part, fields[part.definitions], others)
        new |= {name: value for name, value in fields.items() if value != ours.get(name)}
    for name in _HIGHEST:
        known = [each[name] for each in (theirs, ours) if each.get(name) is not None]
        if known and max(known) != ours.get(name):
            new[name] = max(known)
    properties = _merge_properties(*map(_properties, (was, theirs, ours)))
    if properties != _properties(ours):
        new["properties"] = properties
    if new:
        _require_fit({**ours, **new})
    return new


def _is_changed(part: _Part, one: _Metadata, other: _Metadata) -> bool:
    # what is empty may be left out
    return any((one.get(name) or None) != (other.get(name) or None) for name in part.fields)


def _with_missing(
    part: _Part, chosen: Sequence[Mapping[str, Any]], other: _Metadata
) -> list[Mapping[str, Any]]:
    """Returns definitions with those that only the other side has: its files may need them."""
    known = {each.get(part.id_name) for each in chosen}
    missing = [
        each for each in other.get(part.definitions) or () if each.get(part.id_name) not in known
    ]
    return [*chosen, *missing]


def _properties(metadata: _Metadata) -> dict[str, str]:
    return dict(metadata.get("properties") or {})


def _merge_properties(
    was: Mapping[str, str], theirs: Mapping[str, str], ours: Mapping[str, str]
) -> dict[str, str]:
    merged = dict(ours)
    for name in theirs.keys() | was.keys():
        if theirs.get(name) != was.get(name):
            merged.pop(name, None)
            if name in theirs:
                merged[name] = theirs[name]
    return {name: merged[name] for name in sorted(merged)} if merged != ours else merged


def _require_fit(metadata: _Metadata) -> None:
    """Raises Conflict for metadata in which the parts of both sides contradict each other, such as
    a partition by a column that the other side has dropped.
    """
    try:
        check_definitions(metadata)
    except Invalid as error:
        raise refusal(f"the changes of both sides do not fit together: {error.message}") from error
