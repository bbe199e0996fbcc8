"""The validated options of a reader of the format `anabranch`.

They can be pickled: Spark plans in one Python process and reads in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE, open_lake
from anabranch.spark.planning.partition_planning import ENTRIES
from anabranch.spark.sources.commit_sources import Source, open_references
from anabranch.spark.sources.held_commits import pin_for_query
from anabranch.spark.sources.server_source import Server

__all__ = ["Place", "ReadOptions", "open_source", "parse_options", "pin"]

Place: TypeAlias = Server | str
"""A server, or the folder of a lake, which every worker must see at the same path."""

_NEEDED = {
    "objects": ("reference",),
    "changes": ("left", "right"),
    "commits": ("reference",),
    "branches": (),
    "tags": (),
    "ranges": ("reference",),
    "steps": ("branch",),
}
"""The values of the option `what`, and the options that each requires; `steps` is for streams."""

_NAMING_OBJECTS = ("objects", "changes")
"""Results that name objects, which garbage collection could remove; it does not remove tables and
references.
"""

_SERVER = ("server", "access_key_id", "secret_access_key")


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options; `since` and `history` select the start of a stream."""

    place: Any  # a Place: msgspec converts to types that it knows
    what: str
    repository: str
    reference: str = ""
    left: str = ""
    right: str = ""
    branch: str = ""
    since: str = ""
    history: bool = False
    prefix: str = ""
    entries_per_task: int = ENTRIES


def parse_options(options: Mapping[str, str], default: Place | None) -> ReadOptions:
    """Returns the parsed options, with their place or the default one.

    Raises Invalid for an option that is unknown, missing or invalid.
    """
    given = dict(options.items())
    place = _place(given, default)
    what = given.pop("what", "steps" if "branch" in given else "objects")
    if what not in _NEEDED:
        raise Invalid(f"what: {what}: not one of {', '.join(_NEEDED)}")
    known = {name for name in ReadOptions.__struct_fields__ if name not in ("place", "what")}
    if unknown := sorted(given.keys() - known):
        raise Invalid(
            f"{', '.join(unknown)}: no such option of the format anabranch",
            hint=f"The options are what, lake, {', '.join((*_SERVER, *sorted(known)))}.",
        )
    for name in ("repository", *_NEEDED[what]):
        if not given.get(name):
            raise Invalid(f"{what}: the option {name} is missing")
    try:
        return msgspec.convert({**given, "place": place, "what": what}, ReadOptions, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"options of anabranch: {error}") from error


def _place(given: dict[str, str], default: Place | None) -> Place:
    """Removes the options of the place and returns the place."""
    server = [given.pop(name, "") for name in _SERVER]
    lake = given.pop("lake", "")
    if any(server) and not all(server):
        raise Invalid(f"the options {', '.join(_SERVER)} must be given together")
    if any(server):
        return Server(*server)
    if lake:
        return lake
    if default is not None:
        return default
    raise Invalid(
        "a server or a lake is required",
        hint=f"Pass one to register, or set the options {', '.join(_SERVER)}, or lake.",
    )


@contextmanager
def open_source(place: Place) -> Iterator[Source]:
    """Gives the source of a place. Raises NotFound for a folder that is not a lake."""
    if isinstance(place, Server):
        yield place
        return
    if not Path(place, "metadata", DATABASE_FILE).exists():
        raise NotFound(f"{place}: not a lake")
    with open_lake(place) as lake:
        yield lake


def pin(asked: ReadOptions) -> ReadOptions:
    """Returns the options with resolved references, so that all reads see a single state. The
    objects of these commits are pinned against garbage collection for an hour.

    Raises NotFound.
    """
    with open_source(asked.place) as source:
        references = open_references(source, asked.repository)
        found = {
            name: references.commit(getattr(asked, name)).id
            for name in ("reference", "left", "right")
            if getattr(asked, name)
        }
        if asked.what in _NAMING_OBJECTS:
            pin_for_query(references, found.values())
    return msgspec.structs.replace(asked, **found)
