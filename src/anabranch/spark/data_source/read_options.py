"""Validated options of the format `anabranch`.

They can be pickled, because Spark plans in one Python process and reads in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
import pyarrow as pa

from anabranch.converter import Converter
from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE, open_lake
from anabranch.spark.data_source.store_options import STORE_OPTIONS, pop_store
from anabranch.spark.dataframes.columns import (
    CHANGES,
    COMMITS,
    OBJECTS,
    POINTERS,
    RANGES,
    STEPS,
    select_columns,
)
from anabranch.spark.planning.key_range import KeyRange, key_range
from anabranch.spark.planning.partition_planning import ENTRIES_PER_TASK
from anabranch.spark.sources.commit_pins import pin_for_query
from anabranch.spark.sources.commit_sources import Source, open_references
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener

__all__ = [
    "SCHEMAS",
    "Location",
    "ReadOptions",
    "open_source",
    "parse_options",
    "resolve_and_pin",
]

Location: TypeAlias = Server | str
"""A server, or the folder of a lake, which every worker must see at the same path."""

SCHEMAS = {
    "objects": OBJECTS,
    "changes": CHANGES,
    "commits": COMMITS,
    "branches": POINTERS,
    "tags": POINTERS,
    "ranges": RANGES,
    "steps": STEPS,
}
"""The columns by the value of the option `what`; `steps` is for streams."""

_REQUIRED_OPTIONS = {
    "objects": ("reference",),
    "changes": ("left", "right"),
    "commits": ("reference",),
    "branches": (),
    "tags": (),
    "ranges": ("reference",),
    "steps": ("branch",),
}
"""The options that each value of the option `what` requires."""

_PATHS = ("objects", "changes", "ranges", "steps")
"""The values of `what` that the options `after` and `until` restrict."""

_READ_OBJECTS = ("objects", "changes")
"""The values of `what` whose rows contain addresses of objects, which must be protected from
garbage collection. The rows of the others contain references and tables, which it does not remove.
"""

_SERVER_OPTIONS = ("server", "access_key_id", "secret_access_key")


_Positive = Annotated[int, msgspec.Meta(ge=1)]


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a reader; `since` and `history` select the start of a stream, and the maxima limit
    its batches.
    """

    location: Any  # a Location, which msgspec does not support as a type
    store: Any = None  # an Opener or None
    what: str
    columns: tuple[str, ...] = ()
    repository: str
    reference: str = ""
    left: str = ""
    right: str = ""
    branch: str = ""
    since: str = ""
    history: bool = False
    prefix: str = ""
    after: str = ""
    until: str = ""
    entries_per_task: _Positive = ENTRIES_PER_TASK
    max_objects_per_batch: _Positive | None = None
    max_steps_per_batch: _Positive | None = None

    @property
    def keys(self) -> KeyRange:
        """The keys of the selected paths."""
        return key_range(self.prefix, self.after, self.until)

    @property
    def schema(self) -> pa.Schema:
        """The selected columns. Raises Invalid."""
        return select_columns(SCHEMAS[self.what], self.columns)


_TO_OPTIONS = Converter(ReadOptions, strict=False)


_OWN_OPTIONS = tuple(
    name for name in ReadOptions.__struct_fields__ if name not in ("location", "store")
)
_OPTIONS = (*_OWN_OPTIONS, "lake", *_SERVER_OPTIONS, *STORE_OPTIONS)
_NAMES = {name.replace("_", ""): name for name in _OPTIONS}
"""The names of options by their spelling without underscores: Spark's users write camel case, and
Spark itself ignores case.
"""


def parse_options(
    options: Mapping[str, str], default: Location | None, store: Opener | None = None
) -> ReadOptions:
    """Returns the parsed options, with the location and the store that they name, or the default
    ones.

    Raises Invalid for an option that is unknown, missing or invalid.
    """
    remaining: dict[str, Any] = {_name(name): text for name, text in options.items()}
    location = _pop_location(remaining, default)
    store = pop_store(remaining, store)
    what = remaining.setdefault("what", "steps" if "branch" in remaining else "objects")
    if what not in SCHEMAS:
        raise Invalid(f"what: {what}: must be one of {', '.join(SCHEMAS)}")
    if unknown := sorted(remaining.keys() - set(_OWN_OPTIONS)):
        raise Invalid(
            f"{', '.join(unknown)}: unknown option of the format anabranch",
            hint=f"The options are {', '.join(sorted(_OPTIONS))}.",
        )
    for name in ("repository", *_REQUIRED_OPTIONS[what]):
        if not remaining.get(name):
            raise Invalid(f"{what}: the option {name} is missing")
    for name in ("after", "until"):
        if remaining.get(name) and what not in _PATHS:
            raise Invalid(f"{what}: the option {name} is for {', '.join(_PATHS)}")
    if "columns" in remaining:
        remaining["columns"] = [each.strip() for each in remaining["columns"].split(",")]
    try:
        parsed = _TO_OPTIONS.convert({**remaining, "location": location, "store": store})
    except msgspec.ValidationError as error:
        raise Invalid(f"options of anabranch: {error}") from error
    select_columns(SCHEMAS[what], parsed.columns)
    return parsed


def _name(spelled: str) -> str:
    return _NAMES.get(spelled.replace("_", "").lower(), spelled)


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
        raise NotFound(
            f"{location}: not a lake",
            hint="Give the folder of a lake, or the option server.",
        )
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
