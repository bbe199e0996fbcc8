"""Validated options of the format `anabranch`.

They can be pickled, because Spark plans in one Python process and reads in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE, open_lake
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import Source, open_references
from anabranch.spark.sources.server_source import Server

__all__ = ["Location", "ReadOptions", "open_source", "parse_options", "resolve_and_pin"]

Location: TypeAlias = Server | str
"""A server, or the folder of a lake, which every worker must see at the same path."""

_REQUIRED_OPTIONS = {
    "objects": ("reference",),
    "changes": ("left", "right"),
    "commits": ("reference",),
    "branches": (),
    "tags": (),
    "ranges": ("reference",),
    "steps": ("branch",),
}
"""The values of the option `what`, with the options that each requires; `steps` is for streams."""

_READ_OBJECTS = ("objects", "changes")
"""The values of `what` whose rows contain addresses of objects, which must be protected from
garbage collection. The rows of the others contain references and tables, which it does not remove.
"""

_SERVER_OPTIONS = ("server", "access_key_id", "secret_access_key")


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a reader; `since` and `history` select the start of a stream."""

    location: Any  # a Location, which msgspec does not support as a type
    what: str
    repository: str
    reference: str = ""
    left: str = ""
    right: str = ""
    branch: str = ""
    since: str = ""
    history: bool = False
    prefix: str = ""
    entries_per_task: int = ENTRIES_PER_TASK


def parse_options(options: Mapping[str, str], default: Location | None) -> ReadOptions:
    """Returns the parsed options, with the location that they name or the default one.

    Raises Invalid for an option that is unknown, missing or invalid.
    """
    remaining = dict(options.items())
    location = _pop_location(remaining, default)
    what = remaining.pop("what", "steps" if "branch" in remaining else "objects")
    if what not in _REQUIRED_OPTIONS:
        raise Invalid(f"what: {what}: must be one of {', '.join(_REQUIRED_OPTIONS)}")
    known = {name for name in ReadOptions.__struct_fields__ if name not in ("location", "what")}
    if unknown := sorted(remaining.keys() - known):
        raise Invalid(
            f"{', '.join(unknown)}: unknown option of the format anabranch",
            hint=f"The options are what, lake, {', '.join((*_SERVER_OPTIONS, *sorted(known)))}.",
        )
    for name in ("repository", *_REQUIRED_OPTIONS[what]):
        if not remaining.get(name):
            raise Invalid(f"{what}: the option {name} is missing")
    try:
        return msgspec.convert(
            {**remaining, "location": location, "what": what}, ReadOptions, strict=False
        )
    except msgspec.ValidationError as error:
        raise Invalid(f"options of anabranch: {error}") from error


def _pop_location(remaining: dict[str, str], default: Location | None) -> Location:
    """Removes the options of the location and returns the location."""
    server = [remaining.pop(name, "") for name in _SERVER_OPTIONS]
    lake = remaining.pop("lake", "")
    if any(server) and not all(server):
        raise Invalid(f"the options {', '.join(_SERVER_OPTIONS)} must be set together")
    if any(server):
        return Server(*server)
    if lake:
        return lake
    if default is not None:
        return default
    raise Invalid(
        "a server or a lake is required",
        hint=f"Pass one to register, or set the options {', '.join(_SERVER_OPTIONS)}, or lake.",
    )


@contextmanager
def open_source(location: Location) -> Iterator[Source]:
    """Gives the server or the opened lake. Raises NotFound for a folder that is not a lake."""
    if isinstance(location, Server):
        yield location
        return
    if not Path(location, "metadata", DATABASE_FILE).exists():
        raise NotFound(f"{location}: not a lake")
    with open_lake(location) as lake:
        yield lake


def resolve_and_pin(options: ReadOptions) -> ReadOptions:
    """Returns the options with references replaced by commit ids, so that all scans read the same
    commits. The objects of these commits are pinned against garbage collection for an hour.

    Raises NotFound.
    """
    with open_source(options.location) as source:
        references = open_references(source, options.repository)
        commit_ids = {
            name: references.commit(getattr(options, name)).id
            for name in ("reference", "left", "right")
            if getattr(options, name)
        }
        if options.what in _READ_OBJECTS:
            pin_for_query(references, commit_ids.values())
    return msgspec.structs.replace(options, **commit_ids)
