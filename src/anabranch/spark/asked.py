"""What a reader of the format `anabranch` is asked for: its options, checked.

All of it can be pickled: Spark plans in one process of Python and reads in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from anabranch.errors import Invalid, NotFound
from anabranch.library import DATABASE_FILE, open_lake
from anabranch.spark.pieces import ENTRIES
from anabranch.spark.server import Server
from anabranch.spark.sources import Source, references_of

__all__ = ["Asked", "Place", "asked_of", "opened", "pinned"]

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
"""What can be read, and the options that each needs; `steps` is what streams give."""

_SERVER = ("server", "access_key_id", "secret_access_key")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The options; `since` and `history` say where a stream begins."""

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


def asked_of(options: Mapping[str, str], default: Place | None) -> Asked:
    """Returns what options ask for, at the place that they name or at the default one.

    Raises Invalid for an option that is unknown, missing, or not what it must be.
    """
    given = dict(options.items())
    place = _place(given, default)
    what = given.pop("what", "steps" if "branch" in given else "objects")
    if what not in _NEEDED:
        raise Invalid(f"what: {what}: not one of {', '.join(_NEEDED)}")
    known = {name for name in Asked.__struct_fields__ if name not in ("place", "what")}
    if unknown := sorted(given.keys() - known):
        raise Invalid(
            f"{', '.join(unknown)}: no such option of anabranch",
            hint=f"There are what, lake, {', '.join((*_SERVER, *sorted(known)))}.",
        )
    for name in ("repository", *_NEEDED[what]):
        if not given.get(name):
            raise Invalid(f"{what}: the option {name} is missing")
    try:
        return msgspec.convert({**given, "place": place, "what": what}, Asked, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"options of anabranch: {error}") from error


def _place(given: dict[str, str], default: Place | None) -> Place:
    """Takes the options of the place out and returns it."""
    server = [given.pop(name, "") for name in _SERVER]
    lake = given.pop("lake", "")
    if any(server) and not all(server):
        raise Invalid(f"the options {', '.join(_SERVER)} belong together")
    if any(server):
        return Server(*server)
    if lake:
        return lake
    if default is not None:
        return default
    raise Invalid(
        "neither a server nor a lake is given",
        hint=f"Give them to register, or the options {', '.join(_SERVER)}, or lake.",
    )


@contextmanager
def opened(place: Place) -> Iterator[Source]:
    """Gives the source at a place. Raises NotFound for a folder that is no lake's."""
    if isinstance(place, Server):
        yield place
        return
    if not Path(place, "metadata", DATABASE_FILE).exists():
        raise NotFound(f"{place}: no lake is there")
    with open_lake(place) as lake:
        yield lake


def pinned(asked: Asked) -> Asked:
    """Returns the same with references looked up, so that all that is read is of one moment.

    Raises NotFound.
    """
    with opened(asked.place) as source:
        references = references_of(source, asked.repository)
        found = {
            name: references.commit(getattr(asked, name)).id
            for name in ("reference", "left", "right")
            if getattr(asked, name)
        }
    return msgspec.structs.replace(asked, **found)
