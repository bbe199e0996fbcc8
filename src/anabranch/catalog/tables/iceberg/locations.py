"""What the metadata of a table may name: addresses in its own area, and no others.

An engine follows every address in the metadata with rights of its own. A table that named files
elsewhere could make it read, or remove, what its author could not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from anabranch.errors import Corrupt, Invalid

__all__ = ["PLACES", "check_metadata", "check_stored", "check_updates"]

PLACES = (
    *("write.data.path", "write.metadata.path"),
    *("write.object-storage.path", "write.folder-storage.path"),
)
"""The properties of a table that say where new files are placed."""
_FILES = ("manifest-list", "statistics-path")


def check_updates(updates: Sequence[Any], location: str) -> None:
    """Raises Invalid (kind foreign_location) if updates name an address outside of an area."""
    for update in updates:
        if isinstance(update, Mapping):
            for named in _named(update):
                _require_inside(named, location)


def check_metadata(metadata: Mapping[str, Any], location: str) -> None:
    """Raises Invalid (kind foreign_location) if metadata place new files outside of an area."""
    _require_inside(metadata.get("location"), location)
    for named in _placed(metadata.get("properties")):
        _require_inside(named, location)


class _Stored(msgspec.Struct):
    location: str
    properties: dict[str, Any] = {}


_stored = msgspec.json.Decoder(_Stored)


def check_stored(content: bytes, location: str) -> None:
    """Raises Corrupt (kind damaged_metadata) unless bytes are an object of JSON, with nothing after
    it, that places new files in an area. The rest of the metadata is not decoded.
    """
    try:
        content.decode()  # what is not decoded below need not be text
        stored = _stored.decode(content)
        check_metadata(msgspec.structs.asdict(stored), location)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(f"the metadata are damaged: {error}") from error
    except Invalid as error:
        raise _damaged(f"the metadata are damaged: {error.message}") from error


def _damaged(message: str) -> Corrupt:
    return Corrupt(
        message,
        kind="damaged_metadata",
        hint="Restore the table's record from a commit in which it was right, or drop the table.",
    )


def _named(update: Mapping[str, Any]) -> Iterator[Any]:
    """Yields the addresses in an update."""
    if update.get("action") == "set-location":
        yield update.get("location")
    yield from _placed(update.get("updates"))
    for name in ("snapshot", "statistics", "partition-statistics"):
        part = update.get(name)
        if isinstance(part, Mapping):
            yield from (part[file] for file in _FILES if file in part)
            if "manifests" in part:
                manifests = part["manifests"]
                yield from manifests if isinstance(manifests, list) else [manifests]


def _placed(properties: object) -> Iterable[Any]:
    if not isinstance(properties, Mapping):
        return ()
    return [properties[name] for name in PLACES if name in properties]


def _require_inside(named: object, location: str) -> None:
    text = named if isinstance(named, str) else ""
    inside = text.rstrip("/") == location or text.startswith(f"{location}/")
    if not inside or any(part in {".", ".."} for part in text.split("/")):
        raise Invalid(
            f"{text or named!r:.200} is outside of the table's area {location}",
            kind="foreign_location",
            hint="Leave the location out: the catalog chooses it.",
        )
